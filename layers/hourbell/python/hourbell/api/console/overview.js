// How things stand, at a glance: is it on time, what waits, what died, what is to come.

function Overview() {
  const stats = useData("v1/stats", { every: 5 * SECOND });
  const latest = useData("v1/runs?limit=100", { every: 10 * SECOND });
  const dead = useData("v1/runs?state=dead&limit=6", { every: 10 * SECOND });
  const scanners = useData("v1/deployment", { every: 15 * SECOND });
  const numbers = stats.value;
  return html`<${Head} title="Overview" data=${stats} />
    ${!numbers && html`<${Panel} title="How it stands" id="stats" data=${stats} />`}
    ${numbers && stats.problem && html`<${Trouble} data=${stats} />`}
    ${numbers && html`<${Tiles} stats=${numbers} deployment=${scanners.value} />`}
      <${Panel} title="Lateness of the latest runs" id="latest" data=${latest}
        aside=${html`<a href=${link("runs")}>All runs</a>`}>
        ${
          latest.value &&
          (latest.value.items.length
            ? html`<${LatenessChart} runs=${latest.value.items} /><${Legend}
              states=${[...new Set(latest.value.items.map((run) => run.state))]} />`
            : html`<${Empty}>Nothing has run yet. <a href=${link("jobs/new")}>Create a job</a> and watch it here.<//>`)
        }
      <//>
    <div class="columns">
      <div class="stack">${
        numbers &&
        html`<${Panel} title="Jobs and runs by state" id="states"><${States} stats=${numbers} /><//>
        <${Panel} title="Cold tier: what is to come" id="cold"
          aside=${html`<a href=${link("jobs", { tier: "cold" })}>Cold jobs</a>`}>
          ${
            numbers.cold.hours.length
              ? html`<${ColdChart} hours=${numbers.cold.hours}
                />${numbers.cold.capped && html`<p
                class="soft">Only the next ${numbers.cold.hours.length} hours that have jobs are counted; there are more.</p>`}`
              : html`<${Empty}>No job lies in the cold tier: it holds one-off jobs that are due hours from now or later.<//>`
          }
        <//>`
      }</div>
      <${Panel} title="Recent dead runs" id="dead" data=${dead}
        aside=${html`<a href=${link("runs", { state: "dead" })}>All dead runs</a>`}>
        ${dead.value && html`<${DeadRuns} runs=${dead.value.items} />`}
      <//>
    </div>`;
}

function Tiles({ stats, deployment }) {
  const { lateness_ms: late, oldest_due_age_ms: due, runs, queues } = stats;
  const lagging = due !== null && due > 5 * SECOND;
  const waiting = Object.entries(queues);
  return html`<div class="tiles">
    <${Tile} name="Lateness, last hour" value=${late.p50 === null ? "–" : elapsed(late.p50)} unit=${late.p50 !== null && "p50"}
      more=${late.p50 === null ? "no run has started" : html`<b>${elapsed(late.p95)}</b> p95 · <b>${elapsed(late.p99)}</b> p99`} />
    <${Tile} name="Oldest due" value=${due === null ? "none" : elapsed(due)} alarm=${lagging && "warn"}
      more=${due === null ? "nothing waits past its time" : lagging ? "overdue: the scanner is behind" : "a moment past its time"} />
    <${Tile} name="Dead, last hour" value=${count(runs.dead)} alarm=${runs.dead > 0 && "bad"}
      href=${link("runs", { state: "dead" })}
      more=${`of ${count(totalOf(runs))}${runs.capped ? "+" : ""} runs`} />
    <${Tile} name="Waiting in lanes" value=${count(waiting.reduce((sum, [, number]) => sum + number, 0))}
      more=${waiting.map(([lane, number], at) => html`${at > 0 && " · "}<b>${count(number)}</b> ${lane}`)} />
    ${deployment && html`<${Scanners} deployment=${deployment} />`}
  </div>`;
}

const Tile = ({ name, value, unit, more, alarm, href }) => html`<div class=${`tile ${alarm || ""}`}>
  <h2>${name}</h2><p class="value">${alarm && html`<${Shape} state=${alarm === "bad" ? "dead" : "paused"}
    />`}${href ? html`<a href=${href}>${value}</a>` : value}${unit && html`<small>${unit}</small>`}</p>
  <p class="soft">${more}</p></div>`;

const schemaText = ({ applied, expected }) =>
  applied === expected ? String(applied) : `${applied ?? "–"} (expects ${expected})`;

// Shown to keys of operators alone.
function Scanners({ deployment }) {
  const renewed = deployment.scanners
    .map((range) => range.renewed_at)
    .filter(Boolean)
    .sort()
    .at(-1);
  const quiet = renewed ? Date.parse(deployment.at) - Date.parse(renewed) : null;
  return html`<${Tile} name="Scanners" value=${quiet === null ? "none" : `${elapsed(Math.max(0, quiet))}`}
    unit=${quiet === null ? "" : "ago"}
    alarm=${(quiet === null || quiet > 180 * SECOND) && "warn"}
    more=${`last scan · schema ${schemaText(deployment.schema)}`} />`;
}

const RUN_STATES = ["succeeded", "running", "queued", "retrying", "skipped", "cancelled", "dead"];
const JOB_STATES = ["active", "paused", "completed"];
const totalOf = (runs) => RUN_STATES.reduce((sum, state) => sum + runs[state], 0);

function States({ stats }) {
  const since = localTime(stats.runs.since).slice(11, 16);
  const runsCapped = stats.runs.capped ? " (the latest 100,000)" : "";
  const part = (name, path, states, counts) => html`<h3>${name}</h3>
    <${StateBar} label=${name} counts=${states.map((state) => [state, counts[state]])} />
    <ul class="counts">${states.map((state) => html`<li key=${state} class=${counts[state] ? "" : "zero"}><a href=${link(path, { state })}><${Shape}
      state=${state} />${state} <b>${count(counts[state])}</b></a></li>`)}</ul>`;
  return html`
    ${part(`Jobs${stats.jobs.capped ? " (the newest 100,000)" : ""}`, "jobs", JOB_STATES, stats.jobs)}
    ${part(`Runs since ${since}${runsCapped}`, "runs", RUN_STATES, stats.runs)}`;
}

function DeadRuns({ runs }) {
  const nameOf = useJobNames(runs.map((run) => run.job_id));
  if (!runs.length) return html`<${Empty}><${Shape} state="succeeded" /> No dead runs.<//>`;
  return html`<ul class="dead-runs">${runs.map(
    (run) => html`<li key=${run.id}>
    <div><${Shape} state="dead" /><${JobLink} id=${run.job_id} name=${nameOf(run.job_id)} /></div>
    <a class="error" href=${link(`runs/${run.id}`)}>${run.error || run.reason || "no error was recorded"}</a>
    <span class="soft"><${Time} at=${run.scheduled_for} exact=${false}
      /> · ${run.attempt} ${run.attempt === 1 ? "attempt" : "attempts"}</span></li>`,
  )}</ul>`;
}
