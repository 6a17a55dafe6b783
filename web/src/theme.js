// The chosen theme, before anything is drawn: no flash of the other one.
import { applyTheme } from "./core/prefs.js";

applyTheme();
