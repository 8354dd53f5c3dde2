"""The page under ``/docs``: one static file that reads ``/openapi.json`` and loads nothing from anywhere else."""

from __future__ import annotations

from hourbell.api.page_policy import page_headers

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2rem; border-bottom: 1px solid var(--line); }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: 0 .75rem; }
summary { cursor: pointer; padding: .5rem 0; } summary:focus-visible { outline: 2px solid; }
.method { display: inline-block; min-width: 4.5em; font-weight: 600; }
code, pre { font: 14px/1.45 ui-monospace, monospace; } pre { background: var(--soft); padding: .75rem; overflow: auto; }
table { border-collapse: collapse; width: 100%; }
td { padding: .25rem .5rem .25rem 0; vertical-align: top; }
.soft { opacity: .75; }
"""

_SCRIPT = """
const el = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
};
const main = document.querySelector("main");
let doc;
const resolve = (schema) => schema && schema.$ref ? doc.components.schemas[schema.$ref.split("/").pop()] : schema;
const typeName = (schema) => {
  if (!schema) return "any";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const several = schema.anyOf || schema.oneOf;
  if (several) return several.map(typeName).join(" | ");
  if (schema.type === "array") return typeName(schema.items) + "[]";
  return [].concat(schema.type || "any").join(" | ") + (schema.format ? " (" + schema.format + ")" : "");
};
const fields = (schema) => {
  const known = resolve(schema);
  if (!known || !known.properties) return el("p", { textContent: typeName(schema) });
  const rows = Object.entries(known.properties).map(([name, item]) => el("tr", {},
    el("td", {}, el("code", { textContent: name + ((known.required || []).includes(name) ? "" : "?") })),
    el("td", {}, el("code", { textContent: typeName(item) })),
    el("td", { textContent: item.description || "" })));
  return el("table", {}, el("tbody", {}, ...rows));
};
const examples = (media) => {
  if (!media) return [];
  const found = media.example !== undefined ? { Example: { value: media.example } } : media.examples || {};
  return Object.entries(found).map(([name, one]) => el("details", {}, el("summary", { textContent: name }),
    el("pre", { textContent: JSON.stringify(one.value, null, 2) })));
};
const section = (title, ...children) => el("div", {}, el("h4", { textContent: title }), ...children);
const operation = (method, path, item) => {
  const box = el("details", {}, el("summary", {},
    el("span", { className: "method", textContent: method.toUpperCase() }), el("code", { textContent: path }),
    el("span", { className: "soft", textContent: "  " + item.summary })));
  if (item.description) box.append(el("p", { textContent: item.description }));
  const parameters = item.parameters || [];
  if (parameters.length) box.append(section("Parameters", el("table", {}, el("tbody", {}, ...parameters.map((one) =>
    el("tr", {}, el("td", {}, el("code", { textContent: one.name })), el("td", { textContent: one.in }),
      el("td", {}, el("code", { textContent: typeName(one.schema) })),
      el("td", { textContent: one.description || "" })))))));
  if (item.requestBody) {
    const [type, media] = Object.entries(item.requestBody.content)[0];
    box.append(section("Body: " + typeName(media.schema) + " as " + type, fields(media.schema), ...examples(media)));
  }
  for (const [status, shown] of Object.entries(item.responses)) {
    const reply = shown.$ref ? doc.components.responses[shown.$ref.split("/").pop()] : shown;
    const media = Object.values(reply.content || {})[0];
    const shape = media && status < 300 ? [fields(media.schema)] : [];
    box.append(section(status + " " + reply.description, ...shape, ...examples(media)));
  }
  return box;
};
fetch("openapi.json").then((reply) => reply.json()).then((found) => {
  doc = found;
  main.replaceChildren(el("h1", { textContent: doc.info.title }),
    el("p", { textContent: doc.info.description }));
  const groups = new Map();
  for (const [path, methods] of Object.entries(doc.paths)) for (const [method, item] of Object.entries(methods))
    groups.set(item.tags[0], [...(groups.get(item.tags[0]) || []), operation(method, path, item)]);
  for (const [name, boxes] of groups) main.append(el("h2", { textContent: name }), ...boxes);
  main.append(el("h2", { textContent: "Schemas" }));
  for (const [name, schema] of Object.entries(doc.components.schemas))
    main.append(el("details", { id: name }, el("summary", {}, el("code", { textContent: name })),
      el("p", { textContent: schema.description || "" }), fields(schema)));
}).catch((error) => main.replaceChildren(el("p", { textContent: "The document could not be read: " + error })));
"""


PAGE_HEADERS = page_headers(style=_STYLE, script=_SCRIPT)

PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hourbell API</title>
<style>{_STYLE}</style>
</head>
<body>
<main><p>Reading the document …</p><noscript>This page needs JavaScript; the document itself is
<a href="openapi.json">openapi.json</a>.</noscript></main>
<script>{_SCRIPT}</script>
</body>
</html>
"""
