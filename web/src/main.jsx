// main.jsx - which address is which page. The server gives every such address the same file.
import { render } from "preact";
import { t, useLang } from "./core/i18n.js";
import { can, useMe, whoami } from "./core/me.js";
import { keyFromAddress } from "./core/prefs.js";
import { useRoute } from "./core/route.js";
import { Empty, Skeleton } from "./ui/bits.jsx";
import { Dialogs } from "./ui/dialogs.jsx";
import { Layout } from "./ui/layout.jsx";
import { LivePage } from "./pages/live.jsx";
import { SubmissionsPage } from "./pages/submissions.jsx";
import { SubmissionPage } from "./pages/submission.jsx";
import { SubmitPage } from "./pages/submit.jsx";
import { QueuesPage } from "./pages/queues.jsx";
import { DeadPage } from "./pages/dead.jsx";
import { JudgesPage } from "./pages/judges.jsx";
import { ProblemPage, ProblemsPage } from "./pages/problems.jsx";
import { LoginPage } from "./pages/login.jsx";
import "./style/base.css";
import "./style/parts.css";
import "./style/pages.css";

/* [first word, role it needs, with one more word, the page] */
const PAGES = [
  ["", "read", false, () => <LivePage />],
  ["submissions", "read", false, ({ params }) => <SubmissionsPage params={params} />],
  ["submissions", "submit", true, ({ parts }) => <SubmissionPage key={parts[1]} id={parts[1]} />],
  ["submit", "submit", false, ({ params }) => <SubmitPage params={params} />],
  ["queues", "read", false, () => <QueuesPage />],
  ["dead-letters", "read", false, ({ params }) => <DeadPage params={params} />],
  ["judges", "read", false, () => <JudgesPage />],
  ["problems", "submit", false, () => <ProblemsPage />],
  ["problems", "submit", true, ({ parts }) => <ProblemPage key={parts[1]} id={parts[1]} />],
];

function Page({ route, me }) {
  if (me.role === null) return <Skeleton rows={10} />;
  const [first = "", second] = route.parts;
  if (first === "login") return <LoginPage />;
  if (me.role === "none") return <LoginPage next={route.path + location.search} />;
  const found = PAGES.find(([name, , more]) => name === first && more === (second !== undefined));
  if (!found || route.parts.length > 2) {
    return <Empty icon="search" title={t("notfound")}><p><a class="button" href="/">{t("nav.live")}</a></p></Empty>;
  }
  if (first === "" && !can("read")) return <SubmitPage params={route.params} />;
  if (!can(found[1])) return <Empty icon="key" title={t("error.forbidden")}><p><a class="button" href="/login">{t("login.title")}</a></p></Empty>;
  return found[3](route);
}

function App() {
  useLang();
  const route = useRoute();
  const me = useMe();
  return (
    <>
      <Layout path={route.path}><Page route={route} me={me} /></Layout>
      <Dialogs />
    </>
  );
}

keyFromAddress();
render(<App />, document.getElementById("app"));
whoami();
