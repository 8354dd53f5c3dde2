// Running the occurrences of a span that has gone by: counted before it is done.

const COUNT_PAUSE = 400;

function BackfillJob({ job, close, reload }) {
  const [from, setFrom] = useState(toInput(apiNow() - DAY).slice(0, 16));
  const [to, setTo] = useState(toInput(apiNow()).slice(0, 16));
  const span = { from: fromInput(from), to: fromInput(to) };
  const { value, problem } = useCount(job, span);
  const run = async () => {
    const { value: done } = await post(`v1/jobs/${job.id}/backfill`, span);
    reload();
    return `${count(done.runs)} runs of ${titleOf(job)} are on their way.`;
  };
  return html`<${Ask} title=${`Backfill ${titleOf(job)}?`} confirm=${value ? `Run ${count(value.runs)}` : "Run"}
    disabled=${!value?.runs} run=${run} close=${close}>
    <p>Occurrences of the span that have no run get one, spread so that scheduled runs go first.</p>
    <${Field} label="From" name="from" errors=${problem?.errors}><${Input} type="datetime-local" value=${from}
      onChange=${setFrom} /><//>
    <${Field} label="Before" name="to" errors=${problem?.errors}><${Input} type="datetime-local" value=${to}
      onChange=${setTo} /><//>
    <p aria-live="polite"><${Counted} value=${value} problem=${problem} /></p>
  <//>`;
}

function Counted({ value, problem }) {
  if (!value && !problem) return "Counting …";
  if (!value) return !problem.errors.length && html`<span class="bad">${problem.sentence}</span>`;
  return html`<b>${count(value.runs)}</b> would run; <b>${count(value.existing)}</b> have a run, which stays as it is.`;
}

function useCount(job, { from, to }) {
  const [found, setFound] = useState({});
  useEffect(() => {
    setFound({});
    const control = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setFound({
          value: (await post(`v1/jobs/${job.id}/backfill`, { from, to, dry_run: true }, { signal: control.signal }))
            .value,
        });
      } catch (problem) {
        if (!control.signal.aborted) setFound({ problem });
      }
    }, COUNT_PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [from, to]);
  return found;
}
