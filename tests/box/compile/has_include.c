#if __has_include("@SECRET@") || __has_include("/etc/shadow") || __has_include("/root/.bashrc")
#error SECRET-ANSWER exists
#endif
int main(void) { return 0; }
