//! Where a text comes from and what is looked for in it.

use crate::finding::Confidence;

/// Which families of findings are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Looking {
    /// Secrets by their form, their name or their neighbours, but nothing for looking random: texts that are full of digests
    /// and signatures of their own.
    Named,
    /// Keys, tokens, passwords, and what looks like one.
    Secrets,
    /// Secrets and people: mail addresses, phone numbers, cards, ids. What is remembered of a conversation.
    SecretsAndPeople,
    /// All of that, and web addresses too: a text that is to be handed to somebody else.
    #[default]
    Everything,
}

impl Looking {
    pub(crate) fn people(self) -> bool {
        matches!(self, Looking::SecretsAndPeople | Looking::Everything)
    }

    pub(crate) fn random(self) -> bool {
        self != Looking::Named
    }

    pub(crate) fn addresses(self) -> bool {
        self == Looking::Everything
    }
}

/// What a file is, as far as it changes how its text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FileKind {
    /// Chat, mail, notes, logs, or nothing known: sentences, with all sorts of things pasted in.
    #[default]
    Text,
    /// Names and bare values: dotfiles, ini, properties, YAML, environment files, client settings.
    Settings,
    /// JSON and its relatives: values are quoted.
    Json,
    /// XML and HTML: values are attributes or stand between tags.
    Markup,
    /// A programming language: a bare word is an expression, only a quoted string is a value.
    Source,
    /// Shell scripts and their histories: bare words are values, and so are quoted ones.
    Shell,
    /// Database dumps and schemas.
    Sql,
    /// Digests of packages: lock files, checksum lists, certificates' fingerprints.
    Digests,
    /// Styles, vector pictures, minified scripts: nothing but exact forms is believed.
    Assets,
}

impl FileKind {
    /// Judged by the name, and by the first bytes where the name says nothing.
    pub fn of(path: &str, head: &[u8]) -> FileKind {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
        by_name(&name).or_else(|| by_extension(&name)).unwrap_or_else(|| by_head(head))
    }
}

fn by_name(name: &str) -> Option<FileKind> {
    let kind = match name {
        "cargo.lock"
        | "go.sum"
        | "package-lock.json"
        | "npm-shrinkwrap.json"
        | "yarn.lock"
        | "pnpm-lock.yaml"
        | "poetry.lock"
        | "pipfile.lock"
        | "composer.lock"
        | "gemfile.lock"
        | "flake.lock"
        | "uv.lock"
        | "mix.lock"
        | "pubspec.lock"
        | "podfile.lock"
        | "packages.lock.json"
        | "deno.lock"
        | "bun.lock"
        | ".cargo-checksum.json"
        | "sha256sums"
        | "sha512sums"
        | "md5sums"
        | "known_hosts" => FileKind::Digests,
        "dockerfile" | "containerfile" | ".bash_history" | ".zsh_history" | ".sh_history"
        | ".ash_history" | ".bashrc" | ".profile" | ".bash_profile" | ".zshrc" | ".zshenv" | ".zprofile"
        | ".envrc" | "makefile" | "gnumakefile" | "justfile" | ".bash_aliases" | ".python_history" => {
            FileKind::Shell
        }
        "jenkinsfile" | "vagrantfile" | "rakefile" | "gemfile" | "podfile" => FileKind::Source,
        ".mysql_history" | ".psql_history" => FileKind::Sql,
        _ if name.starts_with("dockerfile.") || name.ends_with(".dockerfile") => FileKind::Shell,
        _ if name == ".env" || name.starts_with(".env.") || name.ends_with(".env") => FileKind::Settings,
        _ if name.ends_with(".min.js") || name.ends_with(".min.css") || name.ends_with(".bundle.js") => {
            FileKind::Assets
        }
        _ if name.starts_with("readme") || name.starts_with("license") || name.starts_with("changelog") => {
            FileKind::Text
        }
        _ => return None,
    };
    Some(kind)
}

fn by_extension(name: &str) -> Option<FileKind> {
    let (stem, extension) = name.rsplit_once('.')?;
    let kind = match extension {
        "rs" | "py" | "pyi" | "js" | "mjs" | "cjs" | "ts" | "tsx" | "jsx" | "go" | "java" | "kt" | "kts"
        | "scala" | "groovy" | "gradle" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "mm"
        | "cs" | "fs" | "vb" | "php" | "rb" | "erb" | "pl" | "pm" | "lua" | "swift" | "dart" | "ex"
        | "exs" | "erl" | "hs" | "ml" | "clj" | "cljs" | "r" | "jl" | "zig" | "nim" | "v" | "vue"
        | "svelte" | "sol" | "proto" | "graphql" | "tf" | "hcl" | "nix" | "bicep" | "ps1" | "psm1"
        | "psd1" | "asm" | "s" | "cmake" | "ipynb" | "jsonnet" | "libsonnet" | "cue" | "star" | "bzl"
        | "coffee" | "el" | "lisp" | "vim" | "awk" | "pas" | "d" | "cr" => FileKind::Source,
        "json" | "json5" | "jsonc" | "jsonl" | "ndjson" | "webmanifest" | "map" | "har" | "tfstate"
        | "avsc" => FileKind::Json,
        "xml" | "html" | "htm" | "xhtml" | "plist" | "csproj" | "vbproj" | "props" | "pom" | "xsd"
        | "wsdl" | "xsl" | "jsp" | "aspx" | "cshtml" | "config" | "xaml" | "resx" | "rdp" | "jelly"
        | "storyboard" => FileKind::Markup,
        "sh" | "bash" | "zsh" | "ksh" | "fish" | "bat" | "cmd" | "mk" | "history" => FileKind::Shell,
        "sql" | "ddl" | "dump" | "mysql" | "pgsql" => FileKind::Sql,
        "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "cnf" | "properties" | "env" | "rc" | "netrc"
        | "npmrc" | "pypirc" | "desktop" | "service" | "socket" | "ovpn" | "nmconnection" | "tfvars"
        | "editorconfig" | "htpasswd" | "pgpass" | "credentials" | "s3cfg" | "boto" | "reg" | "inf"
        | "secrets" | "settings" | "prefs" | "tmpl" | "template" | "j2" | "sample" | "example" | "dist"
        | "local" => FileKind::Settings,
        "lock" | "sum" | "sha1" | "sha256" | "sha512" | "md5" | "sig" | "asc" | "sbom" | "spdx" => {
            FileKind::Digests
        }
        "css" | "scss" | "sass" | "less" | "svg" | "wasm" | "ttf" | "eps" | "ps" => FileKind::Assets,
        "md" | "markdown" | "rst" | "txt" | "adoc" | "log" | "csv" | "tsv" | "tex" | "org" | "eml"
        | "diff" | "patch" | "po" | "srt" => FileKind::Text,
        // The name under the last ending may say it: `config.yaml.bak`, `.env.production.old`.
        "bak" | "old" | "orig" | "save" | "swp" | "tmp" | "in" => {
            return by_name(stem).or_else(|| by_extension(stem));
        }
        _ => return None,
    };
    Some(kind)
}

fn by_head(head: &[u8]) -> FileKind {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.split(|b| *b == b'\n').next().unwrap_or_default();
    if first.starts_with(b"#!") {
        let shell = [&b"sh"[..], b"bash", b"zsh", b"dash", b"ksh", b"env sh", b"env bash"];
        let interpreter = first.rsplit(|b| *b == b'/').next().unwrap_or_default();
        return if shell.iter().any(|s| interpreter.starts_with(s)) {
            FileKind::Shell
        } else {
            FileKind::Source
        };
    }
    match head.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'<') => FileKind::Markup,
        Some(b'{') => FileKind::Json,
        _ => {
            // A head most of whose lines are `name = value`, `name: value` or a section is a settings file.
            let lines: Vec<&[u8]> =
                head.split(|b| *b == b'\n').take(30).filter(|l| !l.trim_ascii().is_empty()).collect();
            let settings = lines.iter().filter(|l| looks_like_setting(l)).count();
            if lines.len() >= 2 && settings * 10 >= lines.len() * 7 {
                FileKind::Settings
            } else {
                FileKind::Text
            }
        }
    }
}

fn looks_like_setting(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if matches!(line.first(), Some(b'#' | b';' | b'[')) {
        return true;
    }
    let name = line
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' '))
        .count();
    name > 0 && name < 48 && matches!(line.get(name), Some(b'=' | b':'))
}

/// Files whose every line holds a secret at a fixed place, with nothing that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// `host:port:database:user:password`
    Pgpass,
    /// `client server secret addresses`
    Chap,
    /// `destination user:password`
    Sasl,
    /// `peers : KIND "secret"`
    Ipsec,
    /// The file is the key.
    Whole,
}

impl Fields {
    fn of(path: &str) -> Option<Fields> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        match name {
            ".pgpass" | "pgpass" | "pgpass.conf" => Some(Fields::Pgpass),
            "chap-secrets" | "pap-secrets" => Some(Fields::Chap),
            "sasl_passwd" | "sasl_password" | "smtp_auth" | "passwd.client" => Some(Fields::Sasl),
            "ipsec.secrets" => Some(Fields::Ipsec),
            "master.key" | "secret_key_base.key" | "production.key" | "credentials.key" => {
                Some(Fields::Whole)
            }
            _ => None,
        }
    }
}

/// What the engine is told about a text.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub looking: Looking,
    pub file: FileKind,
    /// What is less sure than this is not reported.
    pub least: Confidence,
    /// Whether values that are plainly stand-ins (`ghp_xxxx…`, `AKIA…EXAMPLE`) are left alone. A scan does so; a redactor
    /// would rather take out one too many.
    pub stand_ins_are_kept: bool,
    pub(crate) fields: Option<Fields>,
}

impl Scene {
    /// A file of a repository: secrets only, what is sure enough to stop a commit.
    pub fn file(path: &str, head: &[u8]) -> Scene {
        let file = FileKind::of(path, head);
        Scene {
            looking: Looking::Named,
            file,
            least: Confidence::REPORTED,
            stand_ins_are_kept: true,
            fields: Fields::of(path),
        }
    }

    /// Text that will be stored, shown or sent.
    pub fn text(looking: Looking) -> Scene {
        Scene {
            looking,
            file: FileKind::Text,
            least: Confidence::percent(30),
            stand_ins_are_kept: false,
            fields: None,
        }
    }
}
