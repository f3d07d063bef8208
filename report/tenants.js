// Tenants side by side: figures, throughput over time, shares of contended links.
"use strict";

/** By place of a tenant its colour; the same wherever the page shows it. */
let tenantColours = [];

/**
 * Gives a colour each to the tenants with the most payload, in the order of the scenario; all others share that of
 * plain text, as a chart of more lines can't be read.
 */
function chooseTenantColours(tenants) {
  const total = (place) => tenants[place].placed_gbps.reduce((sum, gbps) => sum + gbps, 0);
  const places = tenants.map((_, place) => place).sort((a, b) => total(b) - total(a) || a - b);
  const drawn = places.slice(0, LINE_COLOURS.length).sort((a, b) => a - b);
  tenantColours = tenants.map((_, place) => LINE_COLOURS[drawn.indexOf(place)] ?? "host");
}

/** Whether a tenant has a colour of its own. */
function isDrawn(place) {
  return tenantColours[place] !== "host";
}

/** A spot of a tenant's colour. */
function tenantSpot(place) {
  const spot = element("span", undefined, "spot");
  spot.style.background = `var(--${tenantColours[place]})`;
  return spot;
}

/** A name with a spot of the tenant's colour. */
function tenantName(tenants, place) {
  const cell = element("td");
  cell.append(tenantSpot(place), tenants[place].name);
  return cell;
}

function showTenantFigures({ tenants, fairness }) {
  byId("tenant-figures").replaceChildren(...tenants.map(({ cells }, place) => {
    const row = element("tr");
    row.append(tenantName(tenants, place), ...cells.map((cell) => element("td", cell)));
    return row;
  }));
  setText("tenants-caption", fairness === null
    ? "Nothing reached a receiver."
    : `Jain's index of throughput over weight is ${fairness}: 1 if each got what its weight says, 1/n if one of n got everything.`);
}

function tenantsChart(host, time, tenants) {
  if (time.count === 0) return showEmpty(host, "No samples.");
  const drawn = tenants.map((_, place) => place).filter(isDrawn);
  const lines = drawn.map((place, order) => ({
    values: tenants[place].placed_gbps,
    series: steppedLine(tenants[place].name, tenantColours[place], formatGbps, { fill: undefined, width: 2, unit: "Gb/s" }),
    ...(order === 0 && { range: fromZero(0.001), side: sideAxis(null, formatGbps) }),
  }));
  return timeChart(host, time, lines);
}

function captionTenantsChart({ tenants }) {
  const drawn = tenants.filter((_, place) => isDrawn(place)).length;
  const some = drawn < tenants.length ? ` The ${drawn} of ${tenants.length} with the most are drawn.` : "";
  setText("tenants-chart-caption", `Payload placed at receivers.${some}`);
}

/** A bar divided by tenant, and the same in words. */
function shareBar(shares, tenants) {
  const bar = element("div", undefined, "share-bar");
  const parts = shares.map((share, place) => [share, place]).filter(([share]) => share > 0);
  bar.append(...parts.map(([share, place]) => {
    const part = element("span");
    part.style.flexGrow = share;
    part.style.background = `var(--${tenantColours[place]})`;
    part.title = `${tenants[place].name}: ${formatShare(share)}`;
    return part;
  }));
  const words = parts.map(([share, place]) => `${tenants[place].name} ${formatShare(share)}`).join(" · ");
  const cell = element("td");
  cell.append(bar, element("span", words, "share-words"));
  return cell;
}

function showLinks({ links, shared_links: shared, contended_links: contended, tenants }, nodeName) {
  const few = links.length < shared ? ` The ${links.length} of ${shared} contended for longest are shown; all are in summary.json.` : "";
  const alone = contended - shared;
  const rest = alone > 0 ? ` Besides, one tenant alone filled ${formatCount(alone)}.` : "";
  setText("links-caption", shared === 0
    ? `No link was contended by several tenants.${rest}`
    : `Data sent while a link was used to nine tenths or its queue was long enough for marks. Fairness is Jain's index by weight.${few}${rest}`);
  byId("link-shares").replaceChildren(...links.map((link) => {
    const row = element("tr");
    row.append(
      element("td", `${nodeName(link.node)} → ${nodeName(link.peer_node)}`),
      element("td", formatTime(link.contended_ns), "number"),
      shareBar(link.shares, tenants),
      element("td", link.fairness ?? "–", "number"),
    );
    return row;
  }));
  byId("link-table").hidden = shared === 0;
}

/** Offers the tenants whose messages the slowdown chart may be about. */
function offerTenants({ tenants }) {
  const choice = byId("slowdown-tenant");
  byId("slowdown-whose").hidden = !tenants;
  const names = tenants ? tenants.tenants.map(({ name }) => name) : [];
  const chosen = names[Number(choice.value)] === undefined ? "" : choice.value;
  choice.replaceChildren(new Option("all tenants", ""), ...names.map((name, place) => new Option(name, place)));
  choice.value = chosen;
}

/** The slowdown of the tenant that is chosen, or of all. */
function chosenBins(data) {
  const { value } = byId("slowdown-tenant");
  const chosen = data.tenants && value !== "";
  byId("slowdown-spot").replaceChildren(...(chosen ? [tenantSpot(Number(value))] : []));
  return chosen ? data.tenants.tenants[Number(value)].slowdown : data.slowdown;
}

/** Fills the section of tenants, which only the page of a run with several has. */
function showTenants({ tenants }, nodeName) {
  byId("tenants").hidden = !tenants;
  if (!tenants) return;
  showTenantFigures(tenants);
  captionTenantsChart(tenants);
  showLinks(tenants, nodeName);
}
