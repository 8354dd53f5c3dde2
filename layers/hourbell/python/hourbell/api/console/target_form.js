// Creating and editing a target.

const DESTINATION_KINDS = [
  ["http", "HTTP"],
  ["json", "Another, as JSON"],
];
const DESTINATION_HINT = '{"lambda": {"arn": "…"}}, {"sqs": {"queue_url": "…"}}, {"pull": {}} or another kind: see the API';
const BLANK_TARGET = {
  kind: "http",
  name: "",
  "http.url": "",
  "http.method": "POST",
  "http.headers": "",
  "http.secret": "",
  destination: "",
  rate_per_second: "",
  burst: "",
  max_concurrency: "",
};

const rate = (text) => (/^\d{1,9}(\.\d{1,6})?$/.test(text.trim()) ? Number(text) : text.trim());

function targetFormOf(target) {
  const kind = TARGET_MEMBERS.find((one) => target[one]);
  const { url = "", method = "POST", headers = {}, secret } = target.http ?? {};
  return {
    kind: kind === "http" ? "http" : "json",
    name: target.name ?? "",
    "http.url": url,
    "http.method": method,
    "http.headers": Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    "http.secret": secret ?? "",
    destination: kind === "http" ? "" : JSON.stringify({ [kind]: target[kind] }, null, 2),
    ...Object.fromEntries(
      ["rate_per_second", "burst", "max_concurrency"].map((name) => [name, String(target[name] ?? "")]),
    ),
  };
}

function targetOfForm(form) {
  const limits = { rate_per_second: rate, burst: number, max_concurrency: number };
  return {
    name: form.name.trim(),
    ...destinationOfForm(form),
    ...Object.fromEntries(
      Object.entries(limits).map(([name, read]) => [name, form[name].trim() ? read(form[name]) : null]),
    ),
  };
}

function destinationOfForm(form) {
  if (form.kind === "http")
    return {
      http: {
        url: form["http.url"].trim(),
        method: form["http.method"],
        headers: tagsOf(form["http.headers"]),
        secret: form["http.secret"].trim() || null,
      },
    };
  const found = jsonFlaw(form.destination);
  if (found) throw flaw("destination", `is no JSON: ${found}`);
  return JSON.parse(form.destination);
}

const NewTarget = () =>
  html`<${Head} title="New target" crumb=${["Targets", link("targets")]} /><${TargetForm} start=${BLANK_TARGET} />`;

function EditTarget({ id }) {
  const [turn, setTurn] = useState(0);
  return html`<${LoadedTarget} key=${turn} id=${id} again=${() => setTurn(turn + 1)} />`;
}

function LoadedTarget({ id, again }) {
  const target = useData(`v1/targets/${id}`);
  const crumb = [target.value?.name ?? id, link(`targets/${id}`)];
  if (!target.value)
    return html`<${Head} title="Edit" crumb=${crumb} /><${Panel} title="Target" id="target" data=${target} />`;
  return html`<${Head} title=${`Edit ${target.value.name ?? id}`} crumb=${crumb} />
    <${TargetForm} start=${targetFormOf(target.value)} target=${target.value} etag=${target.etag} again=${again} />`;
}

function TargetForm({ start, target, etag, again }) {
  const sent = useRef({});
  const write = async (form, ifMatch) => {
    const { value } = target
      ? await call("PATCH", `v1/targets/${target.id}`, {
          body: JSON.stringify(difference(targetOfForm(start), targetOfForm(form))),
          ifMatch,
        })
      : await makeOnce("v1/targets", JSON.stringify(targetOfForm(form)), sent.current);
    say(`${value.name ?? value.id} is ${target ? "saved" : "created"}.`);
    return `targets/${value.id}`;
  };
  return html`<${EditForm} start=${start} etag=${etag} write=${write} again=${again}
    back=${link(target ? `targets/${target.id}` : "targets")} save=${target ? "Save" : "Create the target"}>
    <section class="panel" aria-labelledby="where"><h2 id="where">Destination</h2><${DestinationFields} /></section>
    <section class="panel" aria-labelledby="limits"><h2 id="limits">Limits</h2><div class="fields">
      <${Control} name="rate_per_second" label="Calls per second" inputmode="decimal" placeholder="no limit" />
      <${Control} name="burst" label="Burst" inputmode="numeric" placeholder="as the rate"
        hint="how many may go at once after a pause" />
      <${Control} name="max_concurrency" label="Runs at once" inputmode="numeric" placeholder="no limit" />
    </div></section>
  <//>`;
}

function DestinationFields() {
  const { form } = useContext(Form);
  return html`<div class="fields"><${Control} name="name" label="Name" placeholder="billing" hint="jobs name it so"
    wide /></div>
    <${Kinds} name="kind" legend="Kind" kinds=${DESTINATION_KINDS} />
    <div class="fields">${
      form.kind === "http"
        ? html`
      <${Control} key="url" name="http.url" label="URL" placeholder="https://example.com/settle" wide />
      <${Control} key="method" name="http.method" label="Method" as=${Choice}
        options=${["POST", "PUT", "PATCH", "GET", "DELETE"]} />
      <${Control} key="secret" name="http.secret" label="Secret that signs the calls"
        placeholder="one of the stage's own" hint="its Secrets Manager name" />
      <${Control} key="headers" name="http.headers" label="Headers, one a line" as=${Text} class="mono" rows="3"
        placeholder="X-Team: payments" wide />`
        : html`<${Control} key="json" name="destination" label="Destination (JSON)" as=${Text} class="mono"
          hint=${DESTINATION_HINT} wide />`
    }</div>`;
}
