# Sourced by scripts/demo and scripts/test: sets PYTHON to a Python >= 3.11 that can make virtual environments.
# Debian ships Python without `ensurepip`; as root it is installed here, else the line to type is printed.
PYTHON=${PYTHON:-python3}

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "error: semsearch needs Python 3.11 or newer and '$PYTHON' is not. Install one, or name it: PYTHON=/path/to/python3.12 $0" >&2
    exit 1
fi
if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "error: '$PYTHON' cannot make virtual environments. Install that first: sudo apt-get install python$version-venv" >&2
        exit 1
    fi
    echo "\$ apt-get install python$version-venv" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update >/dev/null
    apt-get -qq install --no-install-recommends "python$version-venv" >/dev/null
fi
