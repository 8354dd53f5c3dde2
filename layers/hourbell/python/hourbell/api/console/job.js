// One job: when it runs, how it went, and what can be done with it.

function JobPage({ id }) {
  const path = `v1/jobs/${id}`;
  const job = useData(path, { every: 5 * SECOND });
  const upcoming = useData(`${path}/upcoming?count=8`, { every: 15 * SECOND });
  const runs = useData(`${path}/runs?limit=50`, { every: 5 * SECOND });
  const missed = useData(`${path}/missed?limit=20`, { every: 30 * SECOND });
  const audit = useData(`${path}/audit?limit=20`, { every: 30 * SECOND });
  const [asking, setAsking] = useState(null);
  const reload = () => [job, upcoming, runs, missed, audit].forEach((data) => data.reload());
  const shown = job.value;
  if (!shown)
    return html`<${Head} title=${id} crumb=${["Jobs", link("jobs")]} /><${Panel} title="Job" id="job" data=${job} />`;
  const Asking = asking && JOB_ACTIONS[asking];
  return html`
    <${Head} title=${shown.name ?? shown.id} crumb=${["Jobs", link("jobs")]} data=${job}
      aside=${html`<${Badge} state=${shown.state}
        />${shown.tier === "cold" && html`<span class="chip">cold tier</span>`}`}>
      <${JobButtons} job=${shown} ask=${setAsking} />
    <//>
    ${job.problem && html`<${Trouble} data=${job} />`}
    ${shown.error && html`<p class="notice bad" role="alert">This job cannot be planned: ${shown.error}</p>`}
    ${shown.state === "paused" && html`<p
      class="notice warn">Paused${shown.note ? `: ${shown.note}` : ", without a note."}</p>`}
    <div class="columns">
      <${Panel} title="Schedule" id="schedule"><${JobFacts} job=${shown} description=${upcoming.value?.description}
        /><//>
      <${Panel} title="Next occurrences" id="upcoming"
        data=${upcoming}>${upcoming.value && html`<${Occurrences} found=${upcoming.value.occurrences}
        paused=${shown.state !== "active"} />`}<//>
    </div>
    <${Panel} title="Recent runs" id="runs" data=${runs}
      aside=${html`<a href=${link("runs", { job: id })}>All its runs</a>`}>
      ${runs.value && html`<${JobRuns} runs=${runs.value.items} />`}
    <//>
    <div class="columns">
      <${Panel} title="Missed stretches" id="missed"
        data=${missed}>${missed.value && html`<${Missed} stretches=${missed.value.items} />`}<//>
      <${Panel} title="Changes" id="audit"
        data=${audit}>${audit.value && html`<${Changes} changes=${audit.value.items} />`}<//>
    </div>
    <${Panel} title="Payload and policies" id="definition"><${Definition} job=${shown} /><//>
    ${Asking && html`<${Asking} key=${asking} job=${shown} etag=${job.etag} close=${() => setAsking(null)}
      reload=${reload} />`}`;
}

const JobButtons = ({ job, ask }) => html`<div class="buttons" role="group" aria-label="Actions">
  ${
    job.state === "paused"
      ? html`<button type="button" class="primary" onClick=${() => ask("resume")}>Resume</button>`
      : job.state === "active" && html`<button type="button" onClick=${() => ask("pause")}>Pause</button>`
  }
  <button type="button" onClick=${() => ask("trigger")}>Trigger</button>
  ${job.state === "active" && job.next_run_at && html`<button type="button"
    onClick=${() => ask("skip")}>Skip next</button>`}
  ${!job.schedule.at && html`<button type="button" onClick=${() => ask("backfill")}>Backfill</button>`}
  <a class="button" href=${link(`jobs/${job.id}/edit`)}>Edit</a>
  <a class="button" href=${link("jobs/new", { from: job.id })}>Duplicate</a>
  <button type="button" class="danger" onClick=${() => ask("delete")}>Delete</button>
</div>`;

function JobFacts({ job, description }) {
  const { schedule } = job;
  return html`${description && html`<p class="words">${description}</p>`}<${Facts} facts=${[
    [
      schedule.cron ? "Cron" : schedule.every ? "Every" : "Once, at",
      html`<code>${schedule.cron ?? (schedule.every ? plainDuration(schedule.every) : schedule.at)}</code>`,
    ],
    ["Zone", schedule.timezone],
    [
      "Clock changes",
      schedule.gap &&
        (schedule.cron || schedule.at) &&
        `left-out time: ${schedule.gap === "run" ? "runs after the gap" : "skipped"}; repeated time: ${schedule.repeat}`,
    ],
    ["Counted from", schedule.anchor && html`<${Time} at=${schedule.anchor} only />`],
    ["From", schedule.start_at && html`<${Time} at=${schedule.start_at} only />`],
    ["Until", schedule.end_at && html`<${Time} at=${schedule.end_at} only />`],
    ["At most", schedule.max_runs && `${count(schedule.max_runs)} runs`],
    ["Not on", schedule.exclude?.length > 0 && schedule.exclude.join(", ")],
    ["Spread over", job.window && plainDuration(job.window)],
    ["Target", html`<${TargetText} job=${job} />`],
    ["Tags", Object.keys(job.tags).length > 0 && html`<${Tags} tags=${job.tags} />`],
    ["Id", html`<${Id} id=${job.id} label="the job's id" />`],
    ["Changed", html`<${Time} at=${job.updated_at} exact=${false} /> <span class="soft">version ${job.version}</span>`],
  ]} />`;
}

function Occurrences({ found: all, paused }) {
  const now = useNow();
  const found = all.filter((one) => Date.parse(one.scheduled_for) > now - 2 * SECOND);
  if (!found.length) return html`<${Empty}>This schedule has no further occurrence.<//>`;
  return html`${paused && html`<p class="soft">By the schedule alone; nothing runs while the job is not active.</p>`}
    <ol class="occurrences">${found.map(
      (one) => html`<li key=${one.scheduled_for}><${Time} at=${one.scheduled_for} />
      ${one.note && html`<span class="chip warn">${one.note}</span>`}</li>`,
    )}</ol>`;
}

function JobRuns({ runs }) {
  if (!runs.length) return html`<${Empty}>It has not run yet.<//>`;
  return html`<${RunStrip} runs=${runs} /><${RunTable} runs=${runs.slice(0, 15)} jobs=${false} />`;
}

function Missed({ stretches }) {
  if (!stretches.length) return html`<${Empty}>None: no occurrence of it was left out.<//>`;
  return html`<ul class="plain">${stretches.map(
    (one) => html`<li key=${one.first_scheduled_for}>
    <b>${count(one.occurrences)}</b> ${one.occurrences === 1 ? "occurrence" : "occurrences"}, <span
      class="chip warn">${one.reason}</span>
    <span class="soft block"><${Time} at=${one.first_scheduled_for} only
      />${one.occurrences > 1 && html` to <${Time} at=${one.last_scheduled_for} only />`}</span></li>`,
  )}</ul>`;
}

function Changes({ changes }) {
  if (!changes.length) return html`<${Empty}>No change is on record.<//>`;
  return html`<ul class="plain">${changes.map(
    (one) => html`<li key=${one.recorded_at + one.action}>
    <b>${one.action.replaceAll("_", " ")}</b> <${Time} at=${one.recorded_at} exact=${false} />
    <span class="soft block">${one.key ? html`by <code class="id">${one.key}</code>` : "not through the API"}</span>
    ${one.changes.length > 0 && html`<ul
      class="changes">${one.changes.map((change) => html`<li
      key=${change.field}><code>${change.field}</code> ${change.old ?? "–"} → ${change.new ?? "–"}</li>`)}</ul>`}</li>`,
  )}</ul>`;
}

const catchUpText = ({ policy, within }) =>
  `${policy.replaceAll("_", " ")}${within ? `, within ${plainDuration(within)}` : ""}`;

function retryText({ max_attempts: attempts, backoff, initial, maximum, max_age: age }) {
  const waits = `${plainDuration(initial)} to ${plainDuration(maximum)}`;
  return `up to ${attempts} attempts, ${backoff}, ${waits}, for ${plainDuration(age)}`;
}

function Definition({ job }) {
  const { retry, catch_up: catchUp } = job;
  return html`<${Facts} facts=${[
    ["Overlap", job.overlap.replaceAll("_", " ")],
    ["Catch-up", catchUpText(catchUp)],
    ["Retry", retryText(retry)],
    ["Timeout", `${plainDuration(job.timeout)} per attempt`],
    ["Payload", html`<${Json} value=${job.payload} />`],
    ["Inline target", typeof job.target !== "string" && html`<${Json} value=${job.target} />`],
  ]} />`;
}

// --- actions ---

const titleOf = (job) => job.name ?? job.id;

function PauseJob({ job, close, reload }) {
  const [note, setNote] = useState("");
  const run = async () => {
    await post(`v1/jobs/${job.id}/pause`, note ? { note } : {});
    reload();
    return `${titleOf(job)} is paused.`;
  };
  return html`<${Ask} title=${`Pause ${titleOf(job)}?`} confirm="Pause" run=${run} close=${close}>
    <p>It takes effect at once, also for runs that already wait in a lane.</p>
    <${Field} label="Why (optional)" name="note"><${Input} value=${note} onChange=${setNote} maxlength="500" /><//>
  <//>`;
}

function ResumeJob({ job, close, reload }) {
  const [missed, setMissed] = useState("skip");
  const run = async () => {
    await post(`v1/jobs/${job.id}/resume`, { missed });
    reload();
    return `${titleOf(job)} is active again.`;
  };
  const option = (value, text, more) =>
    html`<label class="option"><input type="radio" name="missed" checked=${missed === value}
      onChange=${() => setMissed(value)} /><span>${text}<small>${more}</small></span></label>`;
  return html`<${Ask} title=${`Resume ${titleOf(job)}?`} confirm="Resume" run=${run} close=${close}>
    <fieldset><legend>Occurrences of the pause</legend>
      ${option("skip", "Skip them", "Go on with the next occurrence from now.")}
      ${option("catch_up", "Catch up", `By the job's policy: ${catchUpText(job.catch_up)}.`)}
    </fieldset><//>`;
}

function TriggerJob({ job, close, reload }) {
  const [text, setText] = useState("");
  const flaw = text.trim() ? jsonFlaw(text) : null;
  const run = async () => {
    const body = text.trim() ? `{"payload":${text}}` : "{}";
    const { value } = await call("POST", `v1/jobs/${job.id}/trigger`, { body, idempotencyKey: newKey() });
    reload();
    go(`runs/${value.id}`);
    return `${titleOf(job)} is triggered.`;
  };
  return html`<${Ask} title=${`Run ${titleOf(job)} now?`} confirm="Trigger" disabled=${flaw !== null} run=${run}
    close=${close}>
    <p>One run starts now${job.state === "paused" ? ", although the job is paused" : ""}; the schedule takes no notice.</p>
    <${Field} label="Another payload for this run only (optional JSON)" name="payload"
      errors=${flaw ? [{ field: "payload", detail: flaw }] : []}><${Text} value=${text} onChange=${setText} rows="4"
      /><//>
  <//>`;
}

function SkipNext({ job, etag, close, reload }) {
  const run = async () => {
    await post(`v1/jobs/${job.id}/skip-next`, {}, { ifMatch: etag });
    reload();
    return `The occurrence of ${localTime(job.next_run_at)} is taken out.`;
  };
  return html`<${Ask} title=${`Skip the next occurrence of ${titleOf(job)}?`} confirm="Skip it" run=${run}
    close=${close}>
    <p>The occurrence of <b><${Time} at=${job.next_run_at} only /></b> (<${Time} at=${job.next_run_at} exact=${false}
      />) will not run.</p><//>`;
}

function DeleteJob({ job, etag, close }) {
  const run = async () => {
    await call("DELETE", `v1/jobs/${job.id}`, { ifMatch: etag });
    go("jobs", {}, { replace: true });
    return `${titleOf(job)} is deleted.`;
  };
  return html`<${Ask} title=${`Delete ${titleOf(job)}?`} confirm="Delete the job" danger run=${run} close=${close}>
    <p><b>${titleOf(job)}</b> will not run again. The records of its runs stay. This cannot be undone.</p><//>`;
}

const JOB_ACTIONS = {
  pause: PauseJob,
  resume: ResumeJob,
  trigger: TriggerJob,
  skip: SkipNext,
  backfill: (props) => html`<${BackfillJob} ...${props} />`,
  delete: DeleteJob,
};
