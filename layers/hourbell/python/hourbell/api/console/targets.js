// Destinations and their limits.

const TARGET_MEMBERS = ["http", "lambda", "sqs", "sns", "eventbridge", "step_functions", "pull"];

function destinationOf(target) {
  const kind = TARGET_MEMBERS.find((one) => target[one]) ?? "?";
  return inlineText({ [kind]: target[kind] ?? {} });
}

const limitsOf = (target) =>
  [
    target.rate_per_second !== null &&
      `${target.rate_per_second}/s${target.burst ? `, burst ${count(target.burst)}` : ""}`,
    target.max_concurrency !== null && `${count(target.max_concurrency)} at once`,
  ]
    .filter(Boolean)
    .join(" · ") || "none";

function Targets({ query }) {
  const targets = useData(
    address("v1/targets", { name: query.name, state: query.state, cursor: query.cursor, limit: 50 }),
    { every: 15 * SECOND, keep: true },
  );
  return html`<${Head} title="Targets" data=${targets}
    aside=${html`<a class="button primary" href=${link("targets/new")}>New target</a>`} />
    <${Filters} path="targets" query=${query} fields=${[
      { name: "name", label: "Name", placeholder: "its whole name", search: true },
      { name: "state", label: "State", options: [["", "any"], "active", "paused"] },
    ]} />
    <${Trouble} data=${targets} />
    ${
      targets.value &&
      html`<${Table} label="Targets" rows=${targets.value.items} behind=${targets.behind}
      empty=${query.name || query.state ? html`No target fits. <a
        href=${link("targets")}>Show all</a>` : html`There are no targets yet. <a
        href=${link("targets/new")}>Create the first one</a>`} columns=${[
        [
          "Target",
          (target) =>
            html`<a class=${target.name ? "name" : "id"}
              href=${link(`targets/${target.id}`)}>${target.name ?? target.id}</a>`,
          "main",
        ],
        ["State", (target) => html`<${Badge} state=${target.state} />`],
        ["Kind", (target) => destinationOf(target).kind],
        ["Destination", (target) => html`<span class="where">${destinationOf(target).where}</span>`],
        ["Limits", limitsOf],
      ]} />
      <${Pager} path="targets" query=${query} next=${targets.value.next_cursor} shown=${targets.value.items.length} />`
    }`;
}

function TargetPage({ id }) {
  const target = useData(`v1/targets/${id}`, { every: 10 * SECOND });
  const runs = useData(`v1/runs?target=${id}&limit=50`, { every: 10 * SECOND });
  const [asking, setAsking] = useState(null);
  const shown = target.value;
  if (!shown)
    return html`<${Head} title="Target" crumb=${["Targets", link("targets")]} /><${Panel} title=${id} id="target"
      data=${target} />`;
  const name = shown.name ?? shown.id;
  const { kind } = destinationOf(shown);
  const change = (action, title, text, done) =>
    html`<${Ask} title=${`${title} ${name}?`} confirm=${title} close=${() => setAsking(null)} run=${async () => {
      await post(`v1/targets/${id}/${action}`);
      target.reload();
      return `${name} is ${done}.`;
    }}><p>${text}</p><//>`;
  return html`
    <${Head} title=${name} crumb=${["Targets", link("targets")]} data=${target}
      aside=${html`<${Badge} state=${shown.state} />`}>
      <div class="buttons" role="group" aria-label="Actions">
        ${shown.state === "paused" ? html`<button type="button" class="primary"
          onClick=${() => setAsking("resume")}>Resume</button>` : html`<button type="button"
          onClick=${() => setAsking("pause")}>Pause</button>`}
        ${shown.name && html`<a class="button" href=${link(`targets/${id}/edit`)}>Edit</a><a class="button"
          href=${link("jobs", { target: shown.name })}>Its jobs</a>`}
      </div>
    <//>
    ${target.problem && html`<${Trouble} data=${target} />`}
    <div class="columns">
      <${Panel} title="Destination" id="destination"><${Facts} facts=${[
        ["Kind", kind],
        ...Object.entries(shown[kind] ?? {}).map(([field, value]) => [
          field === "url" || field === "arn" ? field.toUpperCase() : field.replaceAll("_", " "),
          value === null || (isObject(value) && !Object.keys(value).length)
            ? null
            : isObject(value)
              ? html`<${Json} value=${value} />`
              : html`<span class="where">${String(value)}</span>`,
        ]),
        ["Rate", shown.rate_per_second === null ? "no limit" : `${shown.rate_per_second} per second`],
        ["Burst", shown.burst !== null && count(shown.burst)],
        ["Concurrency", shown.max_concurrency === null ? "no limit" : `${count(shown.max_concurrency)} at once`],
        ["Id", html`<${Id} id=${shown.id} label="the target's id" />`],
        [
          "Changed",
          html`<${Time} at=${shown.updated_at} exact=${false} /> <span class="soft">version ${shown.version}</span>`,
        ],
      ]} /><//>
      ${kind !== "pull" && html`<${TestTarget} target=${shown} />`}
    </div>
    <${Panel} title="Its latest runs" id="runs" data=${runs}
      aside=${html`<a href=${link("runs", { target: id })}>All its runs</a>`}>
      ${runs.value && (runs.value.items.length ? html`<${LatenessChart} runs=${runs.value.items} /><${RunTable}
        runs=${runs.value.items.slice(0, 10)} />` : html`<${Empty}>Nothing was sent there yet.<//>`)}
    <//>
    ${asking === "pause" && change("pause", "Pause", "Runs for it wait, and burn no attempts, until it is resumed.", "paused")}
    ${asking === "resume" && change("resume", "Resume", "Runs that waited for it start.", "active again")}`;
}

// One call outside of any job; its outcome stands here and nowhere else.
function TestTarget({ target }) {
  const [text, setText] = useState('{"test": true}');
  const [found, setFound] = useState({});
  const flawed = jsonFlaw(text);
  const send = async (event) => {
    event.preventDefault();
    setFound({ busy: true });
    try {
      setFound({
        value: (
          await call("POST", `v1/targets/${target.id}/test`, { body: `{"payload":${text}}`, idempotencyKey: newKey() })
        ).value,
      });
    } catch (problem) {
      setFound({ problem });
    }
  };
  const { value, problem, busy } = found;
  return html`<${Panel} title="Test" id="test"><form onSubmit=${send}>
    <p class="soft">Calls it once, now, outside of any job.</p>
    <${Field} label="Payload (JSON)" name="test"
      errors=${flawed ? [{ field: "test", detail: `is no JSON: ${flawed}` }] : []}><${Text} class="mono" rows="3"
      value=${text} onChange=${setText} /><//>
    <div class="buttons"><button class="primary"
      disabled=${busy || flawed !== null}>${busy ? "Calling …" : "Test"}</button></div></form>
    <div aria-live="polite">
      ${problem && html`<p class="notice bad" role="alert">${problem.sentence}</p>`}
      ${value?.state === "pending" && html`<p
        class="notice warn">No worker had a result in time; the call may still be made.</p>`}
      ${
        value?.outcome &&
        html`<${Facts} facts=${[
          ["Outcome", html`<${Badge} state=${value.outcome} />`],
          ["Status", value.status_code],
          ["Took", value.duration_ms !== null && elapsed(value.duration_ms)],
          ["Error", value.error && html`<span class="error">${value.error}</span>`],
          ["Sent to", value.sent && html`<span class="where">${value.sent.method ?? ""} ${value.sent.to}</span>`],
          ["Headers", value.sent && html`<${Json} value=${value.sent.headers} />`],
          ["Body", value.sent && html`<pre class="code" tabindex="0">${value.sent.body}</pre>`],
        ]} />`
      }
    </div><//>`;
}
