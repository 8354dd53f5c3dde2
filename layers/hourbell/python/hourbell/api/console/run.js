// One run: what happened, attempt by attempt.

const UNFINISHED = ["queued", "running", "retrying"];

function RunPage({ id }) {
  const [every, setEvery] = useState(2 * SECOND);
  const run = useData(`v1/runs/${id}`, { every });
  const shown = run.value;
  const job = useData(shown && `v1/jobs/${shown.job_id}`);
  const target = useData(shown && `v1/targets/${shown.target_id}`);
  const [asking, setAsking] = useState(null);
  const unfinished = !shown || UNFINISHED.includes(shown.state);
  useEffect(() => setEvery(unfinished ? 2 * SECOND : 15 * SECOND), [unfinished]);
  if (!shown)
    return html`<${Head} title="Run" crumb=${["Runs", link("runs")]} /><${Panel} title=${id} id="run" data=${run} />`;
  const name = job.value?.name ?? (job.problem?.status === 404 ? GONE : shown.job_id);
  return html`
    <${Head} title=${`Run of ${name}`} crumb=${["Runs", link("runs")]} data=${run}
      aside=${html`<${Badge} state=${shown.state} />`}>
      <div class="buttons" role="group" aria-label="Actions">
        ${ENDED.includes(shown.state) && html`<button type="button" class="primary"
          onClick=${() => setAsking("retry")}>Retry</button>`}
        ${unfinished && html`<button type="button" class="danger"
          onClick=${() => setAsking("cancel")}>Cancel the run</button>`}
        ${name !== GONE && html`<a class="button" href=${link(`jobs/${shown.job_id}`)}>Its job</a>`}
      </div>
    <//>
    ${run.problem && html`<${Trouble} data=${run} />`}
    ${shown.error && html`<p class="notice bad">${shown.error}</p>`}
    <div class="columns">
      <${Panel} title="What happened" id="facts"><${RunFacts} run=${shown} name=${name} target=${target.value} /><//>
      <${Panel} title="Attempts" id="attempts"><${Attempts} run=${shown} /><//>
    </div>
    ${
      (shown.progress !== null || shown.result !== null) &&
      html`<${Panel} title="Told by the target" id="told"><${Facts} facts=${[
        ["Progress", shown.progress !== null && html`<${Json} value=${shown.progress} />`],
        ["Result", shown.result !== null && html`<${Json} value=${shown.result} />`],
      ]} /><//>`
    }
    ${asking && html`<${AskRun} action=${asking} run=${shown} name=${name} close=${() => setAsking(null)}
      reload=${run.reload} />`}`;
}

const RunFacts = ({ run, name, target }) =>
  html`<${Facts} facts=${[
    ["Job", html`<${JobLink} id=${run.job_id} name=${name} />`],
    ["Scheduled for", html`<${Time} at=${run.scheduled_for} milliseconds />`],
    ["Fire at", run.fire_at !== run.scheduled_for && html`<${Time} at=${run.fire_at} milliseconds only />`],
    ["Started", run.started_at && html`<${Time} at=${run.started_at} milliseconds only />`],
    ["Lateness", run.lateness_ms !== null && html`<b>${elapsed(run.lateness_ms)}</b>`],
    [
      "Finished",
      run.finished_at &&
        html`<${Time} at=${run.finished_at} milliseconds only /> <span
          class="soft">${durationOf(run) !== null && `after ${elapsed(durationOf(run))}`}</span>`,
    ],
    ["Reason", run.reason?.replaceAll("_", " ")],
    ["Origin", run.origin],
    [
      "Target",
      html`<a class=${target?.name ? "name" : "id"}
        href=${link(`targets/${run.target_id}`)}>${target?.name ?? run.target_id}</a>`,
    ],
    [
      "Idempotency key",
      html`<${Id} id=${run.id} label="the idempotency key" /><span
        class="soft block">the run's id; the same on every delivery</span>`,
    ],
  ]} />`;

function Attempts({ run }) {
  const now = useNow();
  if (!run.attempts.length)
    return html`<${Empty}>${run.state === "queued" ? "It waits for its time, or for a worker." : "It was never started."}<//>`;
  return html`<${AttemptChart} run=${run} now=${now} />
    <${Table} label="Attempts" rows=${run.attempts.map((one) => ({ ...one, id: one.number }))} columns=${[
      ["#", (one) => one.number, "number"],
      ["Outcome", (one) => html`<${Badge} state=${one.outcome ?? "running"} />`],
      ["Started", (one) => html`<${Time} at=${one.started_at} only="time" milliseconds />`],
      ["Took", (one) => elapsed(one.duration_ms), "number"],
      ["Status", (one) => one.status_code, "number"],
      ["Error", (one) => one.error && html`<span class="error">${one.error}</span>`],
    ]} />`;
}

const RUN_ACTIONS = {
  retry: {
    title: "Retry this run?",
    confirm: "Retry",
    text: "It starts over with a full set of attempts, under the id that it has.",
    done: "It starts over.",
  },
  cancel: {
    title: "Cancel this run?",
    confirm: "Cancel the run",
    danger: true,
    text: "A worker that has it stops at its next heartbeat; what the target has done by then stays done.",
    done: "It is cancelled.",
  },
};

function AskRun({ action, run, name, close, reload }) {
  const { title, confirm, danger, text, done } = RUN_ACTIONS[action];
  const act = async () => {
    await post(`v1/runs/${run.id}/${action}`);
    reload();
    return done;
  };
  return html`<${Ask} title=${title} confirm=${confirm} danger=${danger} run=${act} close=${close}>
    <p><b>${name}</b>, scheduled for <${Time} at=${run.scheduled_for} only />.</p><p>${text}</p><//>`;
}
