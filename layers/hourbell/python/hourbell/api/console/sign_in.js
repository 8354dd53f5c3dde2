// The key goes into this tab's session storage and into the Authorization header, nowhere else.

function SignIn() {
  const { note } = session.use();
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Hourbell";
  }, []);
  const enter = async (event) => {
    event.preventDefault();
    const given = key.trim();
    setProblem(null);
    if (!/^hb_[\w-]+$/.test(given))
      return setProblem("This is no API key: one begins with hb_, and has no blanks in it.");
    setBusy(true);
    try {
      await call("GET", "v1/jobs?limit=1", { key: given });
      return signIn(given);
    } catch (found) {
      setBusy(false);
      if (found.missingScope) return signIn(given);
      return setProblem(
        found.status === 401
          ? "The API does not know this key. It may be mistyped, revoked or expired."
          : found.sentence,
      );
    }
  };
  return html`<main class="sign-in">
    <h1><${Bell} />Hourbell</h1>
    <form onSubmit=${enter} class="panel">
      ${note && !problem && html`<p class="notice warn" role="status">${note}</p>`}
      <div class="field">
        <label for="key">API key</label>
        <${Input} id="key" type="password" value=${key} onChange=${setKey} placeholder="hb_…" autofocus
          aria-invalid=${problem ? "true" : undefined} aria-describedby="key-hint" />
        <small id="key-hint">Kept in this tab alone until you sign out or close it.</small>
      </div>
      ${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
      <div class="buttons"><button class="primary" disabled=${busy}>${busy ? "Asking …" : "Sign in"}</button></div>
    </form>
  </main>`;
}
