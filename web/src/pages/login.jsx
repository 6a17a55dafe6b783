// login.jsx - an API key lets one in.
import { useState } from "preact/hooks";
import { t } from "../core/i18n.js";
import { login } from "../core/me.js";
import { go } from "../core/route.js";
import { useTitle } from "../core/hooks.js";
import { Icon } from "../ui/icons.jsx";
import { sentence } from "../ui/bits.jsx";

export function LoginPage({ next = "/" }) {
  useTitle(t("login.title"));
  const [error, set] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    set("");
    try {
      await login(String(form.get("key")).trim(), form.get("remember") === "on");
      go(next, true);
    } catch (problem) {
      set(problem.status === 401 ? t("login.wrong") : sentence(problem));
    }
    setBusy(false);
  };
  return (
    <form class="login panel" onSubmit={enter}>
      <Icon name="key" />
      <h1>{t("login.title")}</h1>
      {/* Password managers and screen readers look for a name beside a password. */}
      <input class="sr" name="username" autocomplete="username" value="api-key" readOnly tabIndex={-1} aria-hidden="true" />
      <label class="field block"><span>{t("login.key")}</span>
        <input name="key" type="password" required autocomplete="current-password" autofocus spellcheck={false} /></label>
      <label class="check"><input name="remember" type="checkbox" /> {t("login.remember")}</label>
      <p class="late" role="alert">{error}</p>
      <button class="button primary" disabled={busy}>{t("login.do")}</button>
      <p class="muted">{t("login.how")} <code>tribunal keys new --role read</code></p>
    </form>
  );
}
