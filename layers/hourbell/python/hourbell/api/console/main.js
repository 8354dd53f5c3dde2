// The frame around the pages, the keyboard, and the start.

const ROOMS = [
  ["Overview", ""],
  ["Jobs", "jobs"],
  ["Runs", "runs"],
  ["Targets", "targets"],
  ["Keys", "keys"],
];

const Bell = () => html`<svg class="bell" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
  <path d="M12 3a6 6 0 0 1 6 6c0 5 2 6.5 2 6.5H4S6 14 6 9a6 6 0 0 1 6-6z" fill="currentColor" /><path
    d="M10 18.5a2 2 0 0 0 4 0z" fill="currentColor" /><path d="M12 7v4l2.5 1.5" class="hands" fill="none"
    stroke-width="1.5" stroke-linecap="round" /></svg>`;

function pageOf({ parts, query }) {
  const [room = "", id, ...rest] = parts;
  const deeper = rest.join("/");
  const at = (prefix, page) => (isId(prefix, id) && !deeper ? html`<${page} key=${id} id=${id} />` : html`<${Lost} />`);
  switch (room) {
    case "":
      return html`<${Overview} />`;
    case "jobs":
      if (!id) return html`<${Jobs} query=${query} />`;
      if (id === "new") return html`<${NewJob} key=${query.from} query=${query} />`;
      if (isId("job", id) && deeper === "edit") return html`<${EditJob} key=${id} id=${id} />`;
      return at("job", JobPage);
    case "runs":
      return id ? at("run", RunPage) : html`<${Runs} query=${query} />`;
    case "targets":
      if (!id) return html`<${Targets} query=${query} />`;
      if (id === "new") return html`<${NewTarget} />`;
      if (isId("tgt", id) && deeper === "edit") return html`<${EditTarget} key=${id} id=${id} />`;
      return at("tgt", TargetPage);
    case "keys":
      return id ? html`<${Lost} />` : html`<${Keys} query=${query} />`;
    default:
      return html`<${Lost} />`;
  }
}

const Lost = () => html`<${Head} title="There is no such page" /><p><a href=${link("")}>Go to the overview</a></p>`;

function Console() {
  const { key } = session.use();
  const route = useRoute();
  const page = route.parts.join("/");
  useEffect(() => window.scrollTo(0, 0), [page]);
  useKeyboard(key !== null);
  if (key === null) return html`<${SignIn} />`;
  const [room = ""] = route.parts;
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.querySelector("h1")?.focus();
    }}>Skip to the page</a>
    <header class="top">
      <a class="brand" href="#/" aria-label="Hourbell, overview"><${Bell} />Hourbell</a>
      <nav aria-label="Console">${ROOMS.map(([name, path]) => html`<a key=${path} href=${link(path)}
        aria-current=${room === path ? "page" : undefined}>${name}</a>`)}</nav>
      <button type="button" class="link" onClick=${() => signOut()}>Sign out</button>
    </header>
    <main id="main" key=${page}>${pageOf(route)}</main>
    <footer>
      <span>Times in ${ZONE}${ZONE !== "UTC" && "; the title of each has UTC"}.</span>
      <span><kbd>/</kbd> search, <kbd>g</kbd> then ${Object.keys(GO).map((key) => html`<kbd title=${GO[key] || "overview"}>${key}</kbd> `)} to go</span>
      <a href="docs">API</a>
    </footer>
    <${Said} />`;
}

const GO = { o: "", j: "jobs", r: "runs", t: "targets", k: "keys", n: "jobs/new" };

function useKeyboard(signedIn) {
  useEffect(() => {
    if (!signedIn) return undefined;
    let going = false;
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog"))
        return;
      if (event.key === "/") {
        event.preventDefault();
        focusSearch();
      } else if (going && event.key in GO) {
        event.preventDefault();
        go(GO[event.key]);
      }
      going = event.key === "g";
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [signedIn]);
}

function focusSearch() {
  const search = document.querySelector("[data-search]");
  if (search) return search.focus();
  searchWanted = true;
  return go("jobs");
}

render(html`<${Console} />`, document.getElementById("console"));
