// What every form is made of: what it holds is named as the API names it, so that each flaw stands at its field.

const Form = createContext(null);

const number = (text) => (/^\d{1,15}$/.test(text.trim()) ? Number(text) : text.trim());

const flaw = (field, detail) =>
  new Problem({ status: 400, detail: "This is not right yet.", errors: [{ field, detail }] });

/** A form around its fields. ``write`` sends what the form holds, and answers the address to go to then; `ifMatch` is "*" to
 *  write over what somebody else saved meanwhile. ``again`` reads theirs. */
function EditForm({ start, etag, write, again, back, save: label, children }) {
  const [form, setForm] = useState(start);
  const [problem, setProblem] = useState(null);
  const [live, setLive] = useState([]);
  const [busy, setBusy] = useState(false);
  const top = useRef();
  const set = (name, value) => {
    setForm((before) => ({ ...before, [name]: value }));
    setProblem((before) => (before && before.status !== 412 ? without(before, name) : before));
  };
  const save = async (ifMatch) => {
    setBusy(true);
    try {
      go(await write(form, ifMatch));
    } catch (found) {
      setProblem(found instanceof Problem ? found : new Problem({ detail: String(found) }));
      setBusy(false);
      requestAnimationFrame(() => (document.querySelector('[aria-invalid="true"]') ?? top.current)?.focus());
    }
  };
  const told = problem?.errors ?? [];
  const errors = [...told, ...live.filter(({ field }) => !told.some((one) => one.field === field))];
  return html`<${Form.Provider} value=${{ form, set, errors, setLive }}><form class="edit-form" novalidate onSubmit=${(
    event,
  ) => {
    event.preventDefault();
    save(etag);
  }}>
    <div ref=${top} tabindex="-1">${problem && html`<${FormTrouble} problem=${problem} form=${form} again=${again}
      overwrite=${() => save("*")} />`}</div>
    ${children}
    <div class="buttons sticky"><button class="primary" disabled=${busy}>${busy ? "Saving …" : label}</button><a
      class="button" href=${back}>Cancel</a></div>
  </form><//>`;
}

// A request that got no answer is sent again under its own key, so that it makes one thing.
function makeOnce(path, body, sent) {
  if (sent.body !== body) Object.assign(sent, { body, key: newKey() });
  return call("POST", path, { body, idempotencyKey: sent.key });
}

// A field that is changed is no longer what was refused.
const without = (problem, name) =>
  new Problem({
    ...problem,
    detail: problem.detail,
    errors: problem.errors.filter(({ field }) => field !== name && !field.startsWith(`${name}.`)),
  });

function FormTrouble({ problem, form, again, overwrite }) {
  if (problem.status === 412)
    return html`<div class="notice warn" role="alert">
    <p><b>Somebody else changed this since you opened it.</b> Nothing was saved.</p>
    <div class="buttons"><button type="button" onClick=${again}>Show theirs, drop mine</button>
      <button type="button" class="danger" onClick=${overwrite}>Save my changes over theirs</button></div></div>`;
  const named = (field) => Object.keys(form).some((name) => field === name || field.startsWith(`${name}.`));
  const elsewhere = problem.errors.filter(({ field }) => !named(field));
  return html`<div class="notice bad"
    role="alert"><p>${problem.errors.length ? "Not saved: see the fields marked below." : problem.sentence}</p>
    ${elsewhere.length > 0 && html`<ul>${elsewhere.map(({ field, detail }) => html`<li><code>${field}</code> ${detail}</li>`)}</ul>`}</div>`;
}

function Control({ name, label, hint, as = Input, wide, ...rest }) {
  const { form, set, errors } = useContext(Form);
  return html`<${Field} name=${name} label=${label} hint=${hint} wide=${wide} errors=${errors}>
    <${as} value=${form[name]} onChange=${(value) => set(name, value)} ...${rest} /><//>`;
}

function Kinds({ name, legend, kinds }) {
  const { form, set } = useContext(Form);
  return html`<fieldset class="kinds"><legend>${legend}</legend>${kinds.map(
    ([kind, text]) => html`<label key=${kind}>
    <input type="radio" name=${name} checked=${form[name] === kind} onChange=${() => set(name, kind)}
      />${text}</label>`,
  )}</fieldset>`;
}
