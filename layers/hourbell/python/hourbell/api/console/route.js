// Where we are: #/jobs?state=paused. Filters stand in the address, so links can be shared and Back works.

function readRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = ["?"];
  }
  return { parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

const link = (path, query) => `#/${address(path, query)}`;

function go(path, query, { replace = false } = {}) {
  const target = link(path, query);
  if (target === location.hash) return;
  if (replace) history.replaceState(null, "", target);
  else location.hash = target;
  if (replace) window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function useRoute() {
  const [route, setRoute] = useState(readRoute);
  useLayoutEffect(() => {
    const follow = () => setRoute(readRoute());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return route;
}

// Whoever pastes an id into a search wants its page.
const ID_ROOMS = [
  ["job", "jobs"],
  ["run", "runs"],
  ["tgt", "targets"],
];

function placeOfId(text) {
  const found = ID_ROOMS.find(([prefix]) => isId(prefix, text));
  return found ? `${found[1]}/${text}` : null;
}

const isId = (prefix, text) => new RegExp(`^${prefix}_[0-9a-z]{10,40}$`).test(text ?? "");
