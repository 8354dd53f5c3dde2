// The drawings: plain SVG, as wide as their place, described in words for those who do not see them.

function useWidth() {
  const place = useRef();
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watcher.observe(place.current);
    setWidth(place.current.clientWidth);
    return () => watcher.disconnect();
  }, []);
  return [place, width];
}

// `role`: a drawing that holds links is a group of them.
function Chart({ height, label, draw, role = "group" }) {
  const [place, width] = useWidth();
  return html`<div class="chart" ref=${place}>${
    width > 0 &&
    html`
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role=${role}
      aria-label=${label}>${draw(width)}</svg>`
  }</div>`;
}

// --- lateness: from 1 ms to hours, each step ten times the one before ---

const LATENESS_STEPS = [
  [1, "1 ms"],
  [10, "10 ms"],
  [100, "100 ms"],
  [SECOND, "1 s"],
  [10 * SECOND, "10 s"],
  [100 * SECOND, "100 s"],
  [1000 * SECOND, "17 min"],
  [1e7, "3 h"],
  [1e8, "28 h"],
];

function latenessScale(runs, top, bottom) {
  const worst = Math.max(SECOND, ...runs.map((run) => run.lateness_ms ?? 0));
  const highest = LATENESS_STEPS.findIndex(([ms]) => ms >= worst);
  const steps = LATENESS_STEPS.slice(0, highest < 0 ? undefined : highest + 1);
  const decades = Math.log10(steps.at(-1)[0]);
  const y = (ms) => bottom - (Math.min(decades, Math.log10(Math.max(1, ms))) / decades) * (bottom - top);
  return { steps, y };
}

function runTitle(run) {
  const reason = run.reason ? ` (${run.reason.replaceAll("_", " ")})` : "";
  const lateness = run.lateness_ms === null ? "not started" : `${elapsed(run.lateness_ms)} late`;
  return `${localTime(run.scheduled_for)}: ${run.state}${reason}, ${lateness}`;
}

// Not a tab stop each: the table below has the same links.
const RunPoint = ({ run, children }) =>
  html`<a href=${link(`runs/${run.id}`)} tabindex="-1"><title>${runTitle(run)}</title>${children}</a>`;

const LatenessAxis = ({ steps, y, left, right }) =>
  steps.map(
    ([ms, text]) => html`
  <line class="grid" x1=${left} x2=${right} y1=${y(ms)} y2=${y(ms)} />
  <text class="tick" x=${left - 6} y=${y(ms) + 4} text-anchor="end">${text}</text>`,
  );

function stateSummary(runs) {
  const sums = new Map();
  for (const { state } of runs) sums.set(state, (sums.get(state) ?? 0) + 1);
  return [...sums].map(([state, number]) => `${number} ${state}`).join(", ");
}

// Drawn last, so that it lies on top.
const troubleLast = (one, other) =>
  (one.state !== "succeeded") - (other.state !== "succeeded") || (one.state === "dead") - (other.state === "dead");

/** Runs over time, as high as they were late. */
function LatenessChart({ runs }) {
  const height = 190,
    left = 58,
    top = 12,
    bottom = height - 46,
    idle = height - 30;
  const times = runs.map((run) => Date.parse(run.fire_at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const { steps, y } = latenessScale(runs, top, bottom);
  const waiting = runs.some((run) => run.lateness_ms === null);
  const draw = (width) => {
    const right = width - 10;
    const x = (time) =>
      last === first ? (left + right) / 2 : left + 8 + ((time - first) / (last - first)) * (right - left - 16);
    return html`
      <${LatenessAxis} steps=${steps} y=${y} left=${left} right=${right} />
      ${waiting && html`<text class="tick" x=${left - 6} y=${idle + 4} text-anchor="end">no start</text>`}
      ${[...runs].sort(troubleLast).map((run) => {
        const at = { x: x(Date.parse(run.fire_at)), y: run.lateness_ms === null ? idle : y(run.lateness_ms) };
        return html`<${RunPoint} key=${run.id} run=${run}>
          ${run.state !== "succeeded" && html`<circle class="halo" cx=${at.x} cy=${at.y} r="7" />`}
          <${Mark} state=${run.state} ...${at} size=${10} /><//>`;
      })}
      <text class="tick" x=${left} y=${height - 4}>${localTime(first)}</text>
      ${last > first && html`<text class="tick" x=${right} y=${height - 4}
        text-anchor="end">${width < 420 ? localTime(last).slice(11) : localTime(last)}</text>`}`;
  };
  return html`<${Chart} height=${height} draw=${draw}
    label=${`Lateness of the latest ${runs.length} runs: ${stateSummary(runs)}`} />`;
}

/** The runs of a job one beside the other, oldest left: a bar as high as it was late, on its state. */
function RunStrip({ runs }) {
  const height = 150,
    left = 58,
    top = 10,
    bottom = height - 42;
  const { steps, y } = latenessScale(runs, top, bottom);
  const draw = (width) => {
    const step = Math.min(22, (width - left - 8) / Math.max(1, runs.length));
    const fitting = step >= 10 ? runs : runs.slice(0, Math.floor((width - left - 8) / 10));
    const wide = Math.max(step, 10);
    const ordered = [...fitting].reverse();
    return html`
      <${LatenessAxis} steps=${steps} y=${y} left=${left} right=${width - 8} />
      ${ordered.map((run, at) => {
        const x = left + 4 + wide * (at + 0.5);
        return html`<${RunPoint} key=${run.id} run=${run}>
          <rect class="hit" x=${x - wide / 2} y=${top} width=${wide} height=${height - top - 18} />
          ${
            run.lateness_ms !== null &&
            html`<rect class=${`bar ${look(run.state)[0]}`} x=${x - wide * 0.3} width=${wide * 0.6}
            y=${Math.min(y(run.lateness_ms), bottom - 2)} height=${Math.max(2, bottom - y(run.lateness_ms))} />`
          }
          <${Mark} state=${run.state} x=${x} y=${bottom + 12} size=${Math.min(12, wide)} /><//>`;
      })}
      <text class="tick" x=${left} y=${height - 3}>${localTime(ordered[0].scheduled_for)}</text>
      ${ordered.length * wide > 330 && html`<text class="tick" x=${left + ordered.length * wide} y=${height - 3}
        text-anchor="end">${localTime(ordered.at(-1).scheduled_for)}</text>`}`;
  };
  return html`<${Chart} height=${height} draw=${draw} label=${`The last ${runs.length} runs: ${stateSummary(runs)}`} />
    <${Legend} states=${[...new Set(runs.map((run) => run.state))]} note="bar: lateness" />`;
}

const Legend = ({
  states,
  note,
}) => html`<p class="legend">${states.map((state) => html`<span key=${state}><${Shape} state=${state}
  />${state}</span>`)}
  ${note && html`<span class="soft">${note}</span>`}</p>`;

// --- cold jobs by when they are due ---

const COLD_UNITS = [
  {
    name: "hour",
    upTo: 48,
    key: (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate(), date.getHours()),
    next: (date) => new Date(date.getTime() + HOUR),
    text: (date) => `${two(date.getHours())}:00`,
  },
  {
    name: "day",
    upTo: 62,
    key: (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()),
    next: (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1),
    text: (date) => localDay(date).slice(5),
  },
  {
    name: "month",
    upTo: 60,
    key: (date) => new Date(date.getFullYear(), date.getMonth()),
    next: (date) => new Date(date.getFullYear(), date.getMonth() + 1),
    text: (date) => localDay(date).slice(0, 7),
  },
  {
    name: "year",
    upTo: Infinity,
    key: (date) => new Date(date.getFullYear(), 0),
    next: (date) => new Date(date.getFullYear() + 1, 0),
    text: (date) => String(date.getFullYear()),
  },
];

// By the hour while that fits, then by the day, the month, the year; a time without jobs is a gap that is seen.
function coldBuckets(hours) {
  for (const unit of COLD_UNITS) {
    const sums = new Map();
    for (const { hour, jobs } of hours) {
      const at = unit.key(new Date(hour)).getTime();
      sums.set(at, (sums.get(at) ?? 0) + jobs);
    }
    const all = [];
    const last = Math.max(...sums.keys());
    for (
      let at = new Date(Math.min(...sums.keys()));
      at.getTime() <= last && all.length <= Math.min(unit.upTo, 200);
      at = unit.next(at)
    )
      all.push({ at, jobs: sums.get(at.getTime()) ?? 0 });
    if (all.length <= unit.upTo) return { unit, all };
  }
  return { unit: COLD_UNITS.at(-1), all: [] };
}

// The end of an axis: round, and not far above what it has to hold.
function niceCeiling(number) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= number);
}

const short = (number) => new Intl.NumberFormat("en", { notation: "compact" }).format(number);

function ColdChart({ hours }) {
  const { unit, all } = coldBuckets(hours);
  const height = 190,
    left = 52,
    top = 20,
    bottom = height - 38;
  const highest = niceCeiling(Math.max(...all.map((one) => one.jobs)));
  const ticks = [...new Set([0, highest / 2, highest])].filter(Number.isInteger);
  const y = (jobs) => bottom - (jobs / highest) * (bottom - top);
  const total = hours.reduce((sum, one) => sum + one.jobs, 0);
  const draw = (width) => {
    const right = width - 8;
    const step = Math.min(48, (right - left) / all.length);
    const every = Math.max(1, Math.ceil(52 / step));
    return html`
      <text class="tick" x="4" y="10">jobs per ${unit.name}</text>
      ${ticks.map(
        (tick) => html`<line class="grid" x1=${left} x2=${right} y1=${y(tick)} y2=${y(tick)} />
        <text class="tick" x=${left - 6} y=${y(tick) + 4} text-anchor="end">${short(tick)}</text>`,
      )}
      ${all.map(
        ({ at, jobs }, index) => html`<g key=${index}>
        ${
          jobs > 0 &&
          html`<rect class="bar cold" x=${left + index * step + step * 0.12} width=${Math.max(1, step * 0.76)}
          y=${Math.min(y(jobs), bottom - 1)} height=${Math.max(1, bottom - y(jobs))}>
          <title>${`${unit.name === "hour" ? localTime(at).slice(0, 16) : unit.text(at)}: ${count(jobs)} jobs`}</title></rect>`
        }
        ${index % every === 0 && html`<text class="tick" x=${left + (index + 0.5) * step} y=${bottom + 16}
          text-anchor="middle">${unit.text(at)}</text>`}</g>`,
      )}
      <text class="tick" x=${left}
        y=${height - 4}>${unit.name === "hour" ? `from ${localTime(all[0].at).slice(0, 10)}` : ""} due, ${ZONE}</text>`;
  };
  return html`<${Chart} role="img" height=${height} draw=${draw}
    label=${`${count(total)} cold jobs, by the ${unit.name} in which they are due`} />
    <details class="numbers"><summary>As numbers</summary><div class="scroll"><table><thead><tr><th
      scope="col">${unit.name}</th><th scope="col" class="number">jobs</th></tr></thead>
      <tbody>${all.filter((one) => one.jobs).map(({ at, jobs }) => html`<tr
        key=${at.getTime()}><td>${unit.name === "hour" ? localTime(at).slice(0, 16) : unit.text(at)}</td><td
        class="number">${count(jobs)}</td></tr>`)}</tbody></table></div></details>`;
}

// --- the attempts of a run ---

/** When each attempt began and ended, counted from the time at which the run should have started. */
function AttemptChart({ run, now }) {
  const attempts = run.attempts;
  const start = Math.min(Date.parse(run.fire_at), ...attempts.map((one) => Date.parse(one.started_at)));
  const ends = attempts.map((one) => (one.finished_at ? Date.parse(one.finished_at) : now));
  const took = (one, index) => elapsed(one.duration_ms ?? Math.max(0, ends[index] - Date.parse(one.started_at)));
  const span = Math.max(1, ...ends.map((end) => end - start));
  const row = 24,
    left = 88,
    top = 6;
  const height = top + attempts.length * row + 24;
  const draw = (width) => {
    const right = width - 70;
    const x = (time) => left + ((time - start) / span) * (right - left);
    return html`
      <line class="grid" x1=${left} x2=${left} y1=${top} y2=${height - 20} />
      ${attempts.map((one, index) => {
        const from = x(Date.parse(one.started_at)),
          to = Math.max(from + 3, x(ends[index]));
        const outcome = one.outcome ?? "running";
        return html`<g key=${one.number}>
          <text class="tick" x=${left - 8} y=${top + index * row + 16} text-anchor="end">attempt ${one.number}</text>
          <line class="grid" x1=${left} x2=${from} y1=${top + index * row + 12} y2=${top + index * row + 12} />
          <rect class=${`bar ${look(outcome)[0]}`} x=${from} y=${top + index * row + 5} width=${to - from} height="14"
            rx="2"><title>${`${outcome.replaceAll("_", " ")}, ${took(one, index)}`}</title></rect>
          <text class="tick" x=${to + 6} y=${top + index * row + 16}>${took(one, index)}</text></g>`;
      })}
      <text class="tick" x=${left} y=${height - 6}>due</text>
      <text class="tick" x=${right} y=${height - 6} text-anchor="end">+${elapsed(span)}</text>`;
  };
  return html`<${Chart} role="img" height=${height} draw=${draw}
    label=${`${attempts.length} attempts: ${attempts.map((one, index) => `${one.outcome ?? "running"}, ${took(one, index)}`).join(", ")}`} />`;
}

/** Shares of a whole, side by side. */
function StateBar({ counts, label }) {
  const shown = counts.filter(([, number]) => number > 0);
  const total = shown.reduce((sum, [, number]) => sum + number, 0);
  if (!total) return html`<div class="statebar none" role="img" aria-label=${`${label}: none`}></div>`;
  return html`<div class="statebar" role="img"
    aria-label=${`${label}: ${shown.map(([state, number]) => `${number} ${state}`).join(", ")}`}>
    ${shown.map(([state, number]) => html`<span key=${state} class=${look(state)[0]}
      style=${{ flexGrow: number / total }} title=${`${count(number)} ${state}`}></span>`)}</div>`;
}
