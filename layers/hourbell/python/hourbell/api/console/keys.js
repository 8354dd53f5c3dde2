// API keys: who may come in, and who did.

const SCOPES = ["jobs:read", "jobs:write", "runs:write", "targets:write", "keys:write", "admin"];
const LIFETIMES = [["", "never"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]];

function Keys({ query }) {
  const [asking, setAsking] = useState(null);
  const [made, setMade] = useState(null);
  const keys = useData(address("v1/keys", { cursor: query.cursor, limit: 50 }), { every: 30 * SECOND, keep: true });
  const close = () => setAsking(null);
  return html`<${Head} title="Keys" data=${keys}
      aside=${html`<button type="button" class="primary" onClick=${() => setAsking("new")}>New key</button>`} />
    ${made && html`<${Secret} made=${made} close=${() => setMade(null)} />`}
    <${Trouble} data=${keys} />
    ${
      keys.value &&
      html`<${Table} label="Keys" rows=${keys.value.items} behind=${keys.behind} empty="There are no keys." columns=${[
        ["Key", (key) => html`<span class="name">${key.name}</span> <code class="id block">${key.id}</code>`, "main"],
        ["State", (key) => html`<${KeyState} one=${key} />`],
        [
          "Scopes",
          (key) =>
            html`<span class="tags">${key.scopes.map((scope) => html`<span class="chip"
              key=${scope}>${scope}</span>`)}</span>`,
        ],
        [
          "Last used",
          (key) =>
            key.last_used_at ? html`<${Time} at=${key.last_used_at} />` : html`<span class="soft">never</span>`,
        ],
        [
          "Expires",
          (key) => (key.expires_at ? html`<${Time} at=${key.expires_at} />` : html`<span class="soft">never</span>`),
        ],
        ["Created", (key) => html`<${Time} at=${key.created_at} exact=${false} />`],
        [
          "",
          (key) =>
            !key.revoked_at &&
            html`<button type="button" class="link" aria-label=${`Revoke ${key.name}`}
              onClick=${() => setAsking(key)}>Revoke</button>`,
        ],
      ]} />
    <${Pager} path="keys" query=${query} next=${keys.value.next_cursor} shown=${keys.value.items.length} />`
    }
    ${asking === "new" && html`<${MakeKey} made=${setMade} close=${close} reload=${keys.reload} />`}
    ${asking?.id && html`<${RevokeKey} one=${asking} close=${close} reload=${keys.reload} />`}`;
}

const Secret = ({ made, close }) => html`<div class="notice warn" role="status">
  <p><b>The secret of ${made.name}, shown this once:</b></p>
  <p><${Id} id=${made.secret} label="the secret" /></p>
  <button type="button" onClick=${close}>I have it</button>
</div>`;

function MakeKey({ made, close, reload }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [scopes, setScopes] = useState(["jobs:read"]);
  const turn = (scope) => setScopes(SCOPES.filter((one) => (one === scope) !== scopes.includes(one)));
  const run = async () => {
    const expires_at = days && new Date(apiNow() + days * DAY).toISOString();
    const { value } = await post("v1/keys", { name: name.trim(), scopes, ...(days && { expires_at }) });
    made(value);
    reload();
  };
  return html`<${Ask} title="New key" confirm="Create the key" disabled=${!name.trim() || !scopes.length} run=${run}
    close=${close}>
    <${Field} label="Name" name="key-name"><${Input} value=${name} onChange=${setName} placeholder="ci" /><//>
    <fieldset><legend>Scopes</legend>${SCOPES.map(
      (scope) => html`<label class="option" key=${scope}>
        <input type="checkbox" checked=${scopes.includes(scope)} onChange=${() => turn(scope)} />${scope}</label>`,
    )}</fieldset>
    <${Field} label="Expires" name="key-days"><${Choice} value=${days} options=${LIFETIMES} onChange=${setDays} /><//>
  <//>`;
}

function RevokeKey({ one, close, reload }) {
  const run = async () => {
    await call("DELETE", `v1/keys/${one.id}`);
    reload();
    return `${one.name} is revoked.`;
  };
  return html`<${Ask} title=${`Revoke ${one.name}?`} confirm="Revoke the key" danger run=${run} close=${close}>
    <p>Whoever uses it is shut out within a minute. This cannot be undone.</p><//>`;
}

function KeyState({ one }) {
  const now = useNow();
  if (one.revoked_at) return html`<span class="badge mute"><${Shape} state="cancelled" />revoked</span>`;
  if (one.expires_at && Date.parse(one.expires_at) <= now)
    return html`<span class="badge mute"><${Shape} state="skipped" />expired</span>`;
  if (one.previous_secret_expires_at && Date.parse(one.previous_secret_expires_at) > now)
    return html`<span class="badge warn"><${Shape} state="retrying" />old secret still opens</span>`;
  return html`<${Badge} state="active" />`;
}
