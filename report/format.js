// Figures as people read them. Times are in nanoseconds, sizes in bytes, rates in bits per second.
"use strict";

const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const PREFIXES = [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];

/** Up to `digits` significant digits, without exponent or trailing zeros. */
function plain(value, digits = 3) {
  if (value === 0) return "0";
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(decimals, 12))));
}

/** The largest of `units` in which `value` isn't below 1. */
function unitFor(value, units) {
  return units.find(([, factor]) => Math.abs(value) >= factor * 0.9995) ?? units[units.length - 1];
}

function inUnits(value, units, suffix, digits) {
  if (value === 0) return "0";
  const [name, factor] = unitFor(value, units);
  return `${plain(value / factor, digits)}\u202f${name}${suffix}`.trimEnd();
}

function formatTime(ns, digits) {
  return inUnits(ns, TIME_UNITS, "", digits);
}

function formatBytes(bytes, digits) {
  return inUnits(bytes, PREFIXES, "B", digits);
}

function formatRate(bps, digits) {
  return inUnits(bps, PREFIXES, "b/s", digits);
}

function formatGbps(gbps, digits) {
  return formatRate(gbps * 1e9, digits);
}

function formatShare(share, digits) {
  return `${plain(share * 100, digits)}\u202f%`;
}

/** A whole number with narrow spaces between groups of three digits. */
function formatCount(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function formatTimes(factor) {
  return `${plain(factor)}\u202f×`;
}

/** A span of time whose two ends share one unit: "1.85–1.9 ms". */
function formatSpan(startNs, endNs) {
  const [name, factor] = unitFor(endNs, TIME_UNITS);
  return `${plain(startNs / factor, 4)}–${plain(endNs / factor, 4)}\u202f${name}`;
}
