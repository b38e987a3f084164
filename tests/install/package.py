"""Installs a Debian package of Pantoum into a clean system and trains there: package.py PACKAGE.deb

The system is one that debootstrap makes in a temporary folder, of this machine's release and from its own mirror; the package and all that it needs come by
apt, as a user would install them, and an ordinary user trains. Where no such system can be made (no root, no chroot, no network) the package is
unpacked into an empty folder and trains from there with this machine's libraries; the first line of the output says which it was.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.path.join(ROOT, "examples", "c", "spirals.onnx")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def mirror():
    """Address and release that this machine takes its packages from."""
    policy = run("apt-cache", "policy")
    release = run("bash", "-c", ". /etc/os-release; echo $VERSION_CODENAME").strip()
    found = re.search(rf"\d+ (https?://\S+) {release}/main", policy)
    if not found:
        raise RuntimeError(f"apt knows no mirror of {release}")
    return found[1], release


def clean_system(folder):
    """A minimal Debian in the folder, which apt can install into. It raises where that cannot be."""
    address, release = mirror()
    run("debootstrap", "--variant=minbase", release, folder, address)
    for name in ("etc/resolv.conf", "etc/hosts"):
        if os.path.exists(f"/{name}"):
            shutil.copy(f"/{name}", os.path.join(folder, name))
    for name in os.listdir("/etc/apt/apt.conf.d"):  # proxies
        if "proxy" in name.lower():
            shutil.copy(f"/etc/apt/apt.conf.d/{name}", os.path.join(folder, "etc/apt/apt.conf.d", name))


def inside(folder, script, user="root"):
    """Runs a script in that system, with what the system's programs expect mounted."""
    proxies = " ".join(f"{name}='{os.environ[name]}'" for name in PROXIES if name in os.environ)
    mounted = f"mount -t proc proc '{folder}/proc' && mount --bind /dev '{folder}/dev' && chroot '{folder}' su {user} -s /bin/bash -c"
    return run("unshare", "-m", "bash", "-c", f"{mounted} \"$0\"", f"export DEBIAN_FRONTEND=noninteractive LC_ALL=C {proxies}; set -eu; {script}")


def points(path):
    """A data set of three classes in the plane, which a line tells apart."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("x,y,label\n")
        for at in range(640):
            label = at % 3
            file.write(f"{(at * 37 % 101) / 101 + 2 * label:.4f},{(at * 53 % 97) / 97 - label:.4f},{label}\n")


TRAIN = "pantoum train {model} --data {data} --ram 128KiB --batch 64 --epochs 20 --lr 0.05 --optimizer sgd,momentum=0.9 --measure off --kernels {kernels} --format json -o {out}"


def train(execute, model, data, out):
    for kernels in ("portable", "onednn"):
        said = execute(TRAIN.format(model=model, data=data, kernels=kernels, out=out))
        end = json.loads(said.strip().splitlines()[-1])
        if not end["final_loss"] < 0.2:
            raise RuntimeError(f"the loss is {end['final_loss']} after 20 epochs\n{said}")
        print(f"  trained with --kernels {kernels}: {end['steps']} steps, loss {end['final_loss']:.4f}")


def in_clean_system(package, folder):
    clean_system(folder)
    print("a clean system by debootstrap:")
    shutil.copy(package, os.path.join(folder, "root", "pantoum.deb"))
    inside(folder, "apt-get update -qq; apt-get install -y -qq --no-install-recommends /root/pantoum.deb; useradd -m user")
    home = os.path.join(folder, "home", "user")
    shutil.copy(MODEL, home)
    points(os.path.join(home, "points.csv"))
    print("  " + inside(folder, "pantoum --version", "user").strip().splitlines()[0])
    train(lambda words: inside(folder, f"cd; {words}", "user"), "spirals.onnx", "points.csv", "trained.safetensors")
    missing = inside(folder, "ldd /usr/lib/*/libpantoum*.so /usr/lib/*/pantoum/*.so | grep 'not found' || true")
    if missing:
        raise RuntimeError(missing)
    inside(folder, "ldconfig -p | grep -q libpantoum_train.so.0")
    size = run("du", "-sh", os.path.join(folder, "usr")).split()[0]
    print(f"  libraries are all found; the system takes {size}")
    inside(folder, "apt-get purge -y -qq pantoum; test ! -e /usr/bin/pantoum; test ! -e /usr/share/pantoum")
    print("  purged: nothing is left")


def unpacked(package, folder, why):
    print(f"dpkg -x into an empty folder, because there is no clean system here: {why}")
    run("dpkg", "-x", package, folder)
    program = os.path.join(folder, "usr", "bin", "pantoum")
    points(os.path.join(folder, "points.csv"))
    train(lambda words: run("bash", "-c", words.replace("pantoum", f"'{program}'", 1), cwd=folder), MODEL, "points.csv", "trained.safetensors")


def check_names(package, folder):
    """Nothing in the package names a folder of this machine's build."""
    run("dpkg", "-x", package, folder)
    found = subprocess.run(["grep", "-rlF", ROOT, folder], capture_output=True, text=True, check=False).stdout
    if found:
        raise RuntimeError(f"these name {ROOT}:\n{found}")


def main():
    package = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="pantoum-package-") as folder:
        places = [os.path.join(folder, name) for name in ("names", "system", "unpacked")]
        for place in places:
            os.makedirs(place)
        os.chmod(folder, 0o755)
        check_names(package, places[0])
        try:
            clean = os.geteuid() == 0 and shutil.which("debootstrap") and run("unshare", "-m", "true") is not None
            why = "" if clean else "that takes root and debootstrap"
            if clean:
                run("debootstrap", "--print-debs", "--variant=minbase", mirror()[1], os.path.join(folder, "probe"), mirror()[0])
        except RuntimeError as error:
            why = str(error).splitlines()[0]
        if why:
            unpacked(package, places[2], why)
        else:
            in_clean_system(package, places[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
