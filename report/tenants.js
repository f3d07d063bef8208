// Tenants side by side: figures, throughput over time, shares of contended links.
"use strict";

const TENANT_COLOURS = ["series-1", "series-4", "series-2", "series-5", "series-3", "series-6"];

/** The colour of a tenant; there are more tenants than colours only where many share one. */
function tenantColour(place) {
  return TENANT_COLOURS[place % TENANT_COLOURS.length];
}

/** A name with a spot of the tenant's colour. */
function tenantName(name, place) {
  const cell = element("td");
  const spot = element("span", undefined, "spot");
  spot.style.background = `var(--${tenantColour(place)})`;
  cell.append(spot, name);
  return cell;
}

function showTenantFigures({ tenants, fairness }) {
  document.getElementById("tenant-figures").replaceChildren(...tenants.map(({ name, cells }, place) => {
    const row = element("tr");
    row.append(tenantName(name, place), ...cells.map((cell) => element("td", cell)));
    return row;
  }));
  setText("tenants-caption", fairness === null
    ? "Nothing reached a receiver."
    : `Jain's index of throughput over weight is ${fairness}: 1 if each got what its weight says, 1/n if one of n got everything.`);
}

/** The tenants with the most payload, by place; a chart of more lines can't be read. */
function drawnTenants(tenants) {
  const total = (place) => tenants[place].placed_gbps.reduce((sum, gbps) => sum + gbps, 0);
  const places = tenants.map((_, place) => place).sort((a, b) => total(b) - total(a) || a - b);
  return places.slice(0, TENANT_COLOURS.length).sort((a, b) => a - b);
}

function tenantsChart(host, series, tenants) {
  if (series.marks.length === 0) return showEmpty(host, "No samples.");
  const lines = drawnTenants(tenants).map((place, order) => ({
    values: tenants[place].placed_gbps,
    series: steppedLine(tenants[place].name, tenantColour(place), formatGbps, { fill: undefined, width: 2 }),
    ...(order === 0 && { range: fromZero(0.001), side: sideAxis(null, formatGbps) }),
  }));
  return timeChart(host, series, lines);
}

function captionTenantsChart({ tenants }) {
  const drawn = Math.min(tenants.length, TENANT_COLOURS.length);
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
    part.style.background = `var(--${tenantColour(place)})`;
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
  document.getElementById("link-shares").replaceChildren(...links.map((link) => {
    const row = element("tr");
    row.append(
      element("td", `${nodeName(link.node)} → ${nodeName(link.peer_node)}`),
      element("td", formatTime(link.contended_ns), "number"),
      shareBar(link.shares, tenants),
      element("td", link.fairness ?? "–", "number"),
    );
    return row;
  }));
  document.getElementById("link-table").hidden = shared === 0;
}

/** Lets a tenant be chosen whose messages the slowdown chart is about; `draw` gets its bins. */
function linkTenantChoice(data, draw) {
  const choice = document.getElementById("slowdown-tenant");
  if (!data.tenants) {
    choice.remove();
    return;
  }
  const option = (name, value) => Object.assign(element("option", name), { value });
  choice.append(option("all tenants", ""), ...data.tenants.tenants.map(({ name }, place) => option(name, place)));
  choice.addEventListener("change", () => {
    draw(choice.value === "" ? data.slowdown : data.tenants.tenants[Number(choice.value)].slowdown);
  });
}

/** Fills the section of tenants, or takes it out of the page of a run with only one. */
function showTenants({ tenants }, nodeName) {
  if (!tenants) {
    document.getElementById("tenants").remove();
    return;
  }
  showTenantFigures(tenants);
  captionTenantsChart(tenants);
  showLinks(tenants, nodeName);
}
