// JSON merge patches (RFC 7396): an edit sends what was changed, and no more.

const isObject = (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) && !JSON.isRawJSON?.(value);

function same(one, other) {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => same(item, other[at]));
  if (!isObject(one) || !isObject(other)) return JSON.stringify(one) === JSON.stringify(other);
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length && names.every((name) => name in other && same(one[name], other[name]))
  );
}

function difference(before, after) {
  const gone = Object.keys(before)
    .filter((name) => !(name in after))
    .map((name) => [name, null]);
  const changed = Object.entries(after)
    .filter(([name, value]) => !(name in before) || !same(before[name], value))
    .map(([name, value]) => [
      name,
      isObject(before[name]) && isObject(value) ? difference(before[name], value) : value,
    ]);
  return Object.fromEntries([...gone, ...changed]);
}

function merged(document, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(document) ? { ...document } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}
