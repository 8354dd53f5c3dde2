// Times and durations as people read them: in the browser's zone, UTC one hover away.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";

// The browser's clock may be wrong; what is "3 s ago" goes by the API's.
let clockOffset = 0;
const apiNow = () => Date.now() + clockOffset;

function trustClockOf(dateHeader) {
  const theirs = Date.parse(dateHeader ?? "");
  if (Number.isNaN(theirs)) return;
  const offset = theirs - Date.now();
  clockOffset = Math.abs(offset) > 2 * SECOND ? offset : 0;
}

const two = (number) => String(number).padStart(2, "0");

const localDay = (date) => `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

function localTime(instant, { milliseconds = false } = {}) {
  const date = new Date(instant);
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  const fraction = milliseconds ? `.${String(date.getMilliseconds()).padStart(3, "0")}` : "";
  return `${localDay(date)} ${time}${fraction}`;
}

// The two largest units that say something: "2 h 5 min", "3 d", "41 s".
const UNITS = [
  ["y", 365 * DAY],
  ["d", DAY],
  ["h", HOUR],
  ["min", MINUTE],
  ["s", SECOND],
];

function roughly(milliseconds) {
  const size = Math.abs(milliseconds);
  const first = UNITS.findIndex(([, unit]) => size >= unit);
  if (first < 0) return "0 s";
  const [name, unit] = UNITS[first];
  const head = Math.floor(size / unit);
  const [minorName, minorUnit] = UNITS[first + 1] ?? [];
  const tail = minorUnit ? Math.floor((size - head * unit) / minorUnit) : 0;
  return tail && head < 10 ? `${head} ${name} ${tail} ${minorName}` : `${head} ${name}`;
}

function relative(instant, now) {
  const distance = Date.parse(instant) - now;
  if (Math.abs(distance) < SECOND) return "now";
  return distance > 0 ? `in ${roughly(distance)}` : `${roughly(distance)} ago`;
}

// A measured time, as exact as it deserves: "34 ms", "1.2 s", "2 min 5 s".
function elapsed(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return null;
  if (milliseconds < SECOND) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < MINUTE) return `${(milliseconds / SECOND).toFixed(milliseconds < 10 * SECOND ? 2 : 1)} s`;
  return roughly(milliseconds);
}

// "PT1H30M" as "1 h 30 min"; what is no such duration stays as it is.
function plainDuration(iso) {
  const found = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(iso ?? "");
  if (!found) return iso ?? "–";
  const names = ["w", "d", "h", "min", "s"];
  return names.flatMap((name, at) => (found[at + 1] ? [`${found[at + 1]} ${name}`] : [])).join(" ") || "0 s";
}

const count = (number) => number.toLocaleString("en");

// <input type="datetime-local"> speaks the browser's zone without saying so.
const toInput = (instant) => (instant ? localTime(instant).replace(" ", "T") : "");
const fromInput = (text) => (text && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : "");
