// dialogs.jsx - asking before something is done, and saying that it was.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.js";
import { sentence } from "./bits.jsx";
import { Icon } from "./icons.jsx";

let showQuestion = null;
let showToast = null;

/* Ask; true when the person said yes. {title, text, yes, danger} */
export const ask = (question) => new Promise((answer) => showQuestion?.({ ...question, answer }));

/* Say it for a few seconds, to screen readers too. */
export const say = (text, bad = false) => showToast?.({ text, bad });

/* Do it; say what was done, or why not. True when it was done. */
export async function attempt(work, done) {
  try {
    const value = await work();
    if (done) say(typeof done === "function" ? done(value) : done);
    return true;
  } catch (error) {
    say(sentence(error), true);
    return false;
  }
}

function Question() {
  const [question, set] = useState(null);
  const box = useRef(null);
  showQuestion = set;
  useEffect(() => {
    if (question && !box.current.open) box.current.showModal();
  }, [question]);
  if (!question) return null;
  const answer = (value) => {
    box.current?.close();
    set(null);
    question.answer(value);
  };
  return (
    <dialog ref={box} class="dialog" aria-labelledby="dialog-title" onCancel={(e) => { e.preventDefault(); answer(false); }}>
      <h2 id="dialog-title">{question.title}</h2>
      {question.text && <p>{question.text}</p>}
      <div class="dialog-actions">
        <button class="button" onClick={() => answer(false)}>{t("no")}</button>
        <button class={`button ${question.danger ? "danger" : "primary"}`} data-yes autofocus onClick={() => answer(true)}>
          {question.yes}
        </button>
      </div>
    </dialog>
  );
}

function Toasts() {
  const [list, set] = useState([]);
  const next = useRef(1);
  showToast = (toast) => {
    const id = next.current++;
    set((old) => [...old.slice(-3), { ...toast, id }]);
    setTimeout(() => set((old) => old.filter((one) => one.id !== id)), toast.bad ? 9000 : 4000);
  };
  return (
    <div class="toasts" role="status" aria-live="polite">
      {list.map((one) => (
        <div key={one.id} class={`toast ${one.bad ? "bad" : ""}`}>
          <Icon name={one.bad ? "warn" : "check"} />
          {one.text}
        </div>
      ))}
    </div>
  );
}

export function Dialogs() {
  return <><Question /><Toasts /></>;
}
