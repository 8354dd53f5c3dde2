// API keys: who may come in, and who did. Made and revoked with the command line.

function Keys({ query }) {
  const keys = useData(address("v1/keys", { cursor: query.cursor, limit: 50 }), { every: 30 * SECOND, keep: true });
  return html`<${Head} title="Keys" data=${keys} />
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
      ]} />
    <${Pager} path="keys" query=${query} next=${keys.value.next_cursor} shown=${keys.value.items.length} />`
    }`;
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
