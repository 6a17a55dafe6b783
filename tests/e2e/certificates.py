"""Certificates for tests, made on the spot."""

import subprocess

from harness.proc import find_program


def make_certificates(folder):
    """ca.pem, and server.pem and client.pem for 127.0.0.1 signed by it, each with its .key; and
    other.pem, a CA that signed none of them. Returns the folder."""
    def openssl(*words):
        subprocess.run([find_program("openssl", fix="dev/setup test"), *words], cwd=folder, check=True,
                       capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("ca", "other"):
        openssl("req", "-x509", *key, "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                "-out", f"{name}.pem")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
    return folder
