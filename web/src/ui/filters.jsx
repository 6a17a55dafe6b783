// filters.jsx - filters of a list: text fields whose values are the address.
import { useEffect, useRef } from "preact/hooks";
import { t } from "../core/i18n.js";

/* The filters among the words of an address. */
export const filtersOf = (params, names) => Object.fromEntries(names.filter((n) => params[n]).map((n) => [n, params[n]]));

/* One field; change(name, value) when somebody has typed and left it, or pressed enter. */
export function Field({ name, filters, list, search, change }) {
  const box = useRef(null);
  const value = filters[name] ?? "";
  useEffect(() => {
    if (box.current.value !== value) box.current.value = value;
  }, [value]);
  const set = () => change(name, box.current.value.trim());
  return (
    <label class="field">
      <span>{t(`filter.${name}`)}</span>
      <input ref={box} name={name} defaultValue={value} list={list ? `list-${name}` : undefined} maxLength={128} autocomplete="off"
        spellcheck={false} data-search={search} onChange={set}
        onKeyDown={(e) => { if (e.key === "Enter") set(); if (e.key === "Escape") e.currentTarget.blur(); }} />
      {list && <datalist id={`list-${name}`}>{list.map((one) => <option key={one} value={one} />)}</datalist>}
    </label>
  );
}
