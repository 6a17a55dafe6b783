"""Out of memory is MLE in every language, also where a runtime says so itself; a program that chose
its exit code is still RTE."""

import pytest

JAVA = "import java.util.*;\npublic class Main { public static void main(String[] a) { %s } }\n"
EATS_JAVA = "List<int[]> l = new ArrayList<>(); while (true) l.add(new int[1 << 18]);"
GO = "package main\nimport (\"fmt\"; \"os\")\nfunc main() { _ = os.Args; %s; fmt.Println(42) }\n"

ROWS = [
    ("java", "main.java", JAVA % EATS_JAVA, "MLE"),
    ("java array", "main.java", JAVA % "long[] x = new long[500_000_000]; System.out.println(x[1]);", "MLE"),
    ("java thread", "main.java",
     JAVA % ("Thread t = new Thread(() -> { " + EATS_JAVA + " }); t.start(); "
             "try { t.join(); } catch (Exception e) {} System.exit(1);"), "MLE"),
    ("java caught", "main.java",
     JAVA % "try { long[] x = new long[500_000_000]; } catch (OutOfMemoryError e) { System.out.println(42); }",
     "AC"),
    ("java exit 3", "main.java", JAVA % "System.exit(3);", "RTE"),
    ("java exception", "main.java", JAVA % "throw new RuntimeException();", "RTE"),
    ("node", "main.js", "const l = []; for (;;) l.push(new Array(1e5).fill(1.5));", "MLE"),
    ("node abort", "main.js", "process.abort();", "RTE"),
    ("python", "main.py", "x = []\nwhile True: x.append(bytearray(1 << 22))\n", "MLE"),
    ("python at once", "main.py", "x = bytearray(1 << 50)\n", "MLE"),
    ("python caught", "main.py", "try:\n    bytearray(1 << 50)\nexcept MemoryError:\n    print(42)\n", "AC"),
    ("python error", "main.py", "raise ValueError\n", "RTE"),
    ("go", "main.go", GO % "x := [][]byte{}; for { b := make([]byte, 1<<22); for i := range b { b[i] = 1 }; "
     "x = append(x, b); if len(x) > 1<<30 { break } }", "MLE"),
    ("go at once", "main.go", GO % "n := 1 << 46 - len(os.Args); x := make([]byte, n); x[5] = 1", "MLE"),
    ("go panic", "main.go", GO % "panic(1)", "RTE"),
]
SLUGS = {"java": "java17", "js": "javascript", "py": "python3", "go": "go"}


@pytest.mark.parametrize("label, name, source, verdict", ROWS, ids=[r[0] for r in ROWS])
def test_out_of_memory_is_said_in_every_language(label, name, source, verdict, judge, problem, languages):
    if SLUGS[name.split(".")[1]] not in languages:
        pytest.skip(f"{name} CANNOT RUN HERE")
    r = judge(source, problem(yaml="time_limit: 3000\nmemory_limit: 64\n"), name)
    assert r.verdict == verdict, r
