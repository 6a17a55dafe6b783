// layout.jsx - the head of every page: where one can go, whether it is live, language, theme, key.
import { useEffect, useRef, useState } from "preact/hooks";
import { connectionState } from "../core/events.js";
import { count } from "../core/format.js";
import { lang, languages, setLang, t } from "../core/i18n.js";
import { can, logout, useMe } from "../core/me.js";
import { useNow } from "../core/now.js";
import { setTheme, theme, themes } from "../core/prefs.js";
import { useEvents } from "../core/hooks.js";
import { Icon } from "./icons.jsx";

const PAGES = [
  { href: "/", key: "nav.live", role: "read" },
  { href: "/submissions", key: "nav.submissions", role: "read" },
  { href: "/submit", key: "nav.submit", role: "submit" },
  { href: "/queues", key: "nav.queues", role: "read", badge: (now) => now?.pending },
  { href: "/dead-letters", key: "nav.dead", role: "read", badge: (now) => now?.dead, bad: true },
  { href: "/judges", key: "nav.judges", role: "read" },
  { href: "/problems", key: "nav.problems", role: "submit" },
];

const isHere = (path, href) => (href === "/" ? path === "/" : path === href || path.startsWith(`${href}/`));

function Nav({ path }) {
  const now = useNow();
  const box = useRef(null);
  useEffect(() => {
    box.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path, can("read")]); // the entries come with the role
  return (
    <nav aria-label={t("nav.label")} ref={box}>
      {PAGES.filter((page) => can(page.role)).map((page) => {
        const badge = page.badge?.(now);
        return (
          <a key={page.href} href={page.href} aria-current={isHere(path, page.href) ? "page" : undefined}>
            {t(page.key)}
            {badge > 0 && <span class={`badge ${page.bad ? "bad" : ""}`}>{count(badge)}</span>}
          </a>
        );
      })}
    </nav>
  );
}

function Connection() {
  const [state, set] = useState(connectionState);
  /* Listening begins after the first drawing; a busy browser may have gone live between the two. */
  useEffect(() => set(connectionState()), []);
  useEvents((event) => event.type === "connection" && set(event.state));
  if (!can("read") || state === "off") return null;
  return (
    <span class={`connection ${state}`} role="status" title={t(`connection.${state}.long`)}>
      <i aria-hidden="true" />
      <span>{t(`connection.${state}`)}</span>
    </span>
  );
}

const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

function ThemeSwitch() {
  const [value, set] = useState(theme);
  const next = themes[(themes.indexOf(value) + 1) % themes.length];
  const label = t("theme.label", { now: t(`theme.${value}`), next: t(`theme.${next}`) });
  return (
    <button class="ghost" id="theme" aria-label={label} title={label} onClick={() => { setTheme(next); set(next); }}>
      <Icon name={THEME_ICONS[value]} />
    </button>
  );
}

function LangSwitch() {
  const other = Object.keys(languages).find((one) => one !== lang());
  return (
    <button class="ghost" id="language" lang={other === "zh" ? "zh-CN" : "en"} onClick={() => setLang(other)}>
      {languages[other]}
    </button>
  );
}

function Account() {
  const me = useMe();
  if (!me.role || me.role === "none") return null;
  const who = me.name || me.key_id;
  if (!who) {
    return <a class="ghost" href="/login" title={t("account.open")}><Icon name="key" /><span class="wide">{t(`role.${me.role}`)}</span></a>;
  }
  return (
    <button class="ghost" onClick={logout} title={t("account.logout")}>
      <Icon name="key" /><span class="wide">{who}</span>
    </button>
  );
}

export function Layout({ path, children }) {
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main").focus(); }}>
        {t("nav.skip")}
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="Tribunal"><Icon name="scales" /><span>Tribunal</span></a>
        <Nav path={path} />
        <div class="tools"><Connection /><LangSwitch /><ThemeSwitch /><Account /></div>
      </header>
      <main id="main" tabIndex={-1}>{children}</main>
    </>
  );
}
