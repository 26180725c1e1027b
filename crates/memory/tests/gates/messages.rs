//! Makes agent messages: noise of known kinds and facts worth keeping, from templates with slots.
//!
//! The templates are in `messages/`, in two halves: one the gates were tuned on, one that was written before the gates were and
//! not looked at while they were tuned. The same seed gives the same messages.

/// A message and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) label: &'static str,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Tuned,
    HeldOut,
    /// Written in another voice when the gates were done, and tuned on after one look.
    Later,
    /// Written after that, in a third voice, and tuned on after one look.
    Fresh,
}

pub(crate) fn noise(half: Half, count: usize, seed: u64) -> Vec<Message> {
    let text = match half {
        Half::Tuned => include_str!("messages/noise-tuned.txt"),
        Half::HeldOut => include_str!("messages/noise-held-out.txt"),
        Half::Later => include_str!("messages/noise-later.txt"),
        Half::Fresh => include_str!("messages/noise-fresh.txt"),
    };
    generate(text, count, seed)
}

pub(crate) fn facts(half: Half, count: usize, seed: u64) -> Vec<Message> {
    let text = match half {
        Half::Tuned => include_str!("messages/facts-tuned.txt"),
        Half::HeldOut => include_str!("messages/facts-held-out.txt"),
        Half::Later => include_str!("messages/facts-later.txt"),
        Half::Fresh => include_str!("messages/facts-fresh.txt"),
    };
    generate(text, count, seed)
}

pub(crate) fn instructions(half: Half, count: usize, seed: u64) -> Vec<Message> {
    let text = match half {
        Half::Tuned => include_str!("messages/instructions-tuned.txt"),
        Half::HeldOut | Half::Later | Half::Fresh => include_str!("messages/instructions-held-out.txt"),
    };
    generate(text, count, seed)
}

const SLOTS: &[(&str, &[&str])] = &[
    (
        "person",
        &["Ana", "Björn", "Chen", "Mrs. Okafor", "Dmitri", "Ms Tanaka", "José", "Priya", "the CFO", "Lena"],
    ),
    ("agent", &["Scribe", "helper-2", "Atlas", "builder"]),
    (
        "service",
        &[
            "billing",
            "auth-proxy",
            "ingest",
            "the mail relay",
            "search",
            "payroll",
            "booking",
            "nginx",
            "ledger-api",
        ],
    ),
    ("service2", &["redis", "the queue", "catalogue", "the scheduler", "haproxy", "session store"]),
    ("host", &["web-1", "db-3.lan", "mars", "10.8.0.14", "edge-fra2", "kiln"]),
    ("file", &["main.rs", "config.yaml", "auth.py", "parser.go", "index.ts", "schema.sql", "Makefile"]),
    ("path", &["/etc/holdfast/config.yaml", "/var/lib/app", "/srv/data/export", "~/site", "/opt/tools"]),
    ("symbol", &["parse_line", "UserStore", "retry_max", "OrderTotal", "flush", "customers"]),
    ("tool", &["PostgreSQL", "SQLite", "Rust", "Terraform", "Caddy", "restic", "Python", "Kubernetes"]),
    ("tool2", &["MongoDB", "Ansible", "Apache", "Docker Swarm", "Jenkins"]),
    ("domain", &["billing", "warehouse", "clinic", "payroll", "logistics", "school", "garden", "recipe"]),
    ("version", &["2.4", "16", "0.9.1", "v3", "11.2"]),
    ("year", &["2027", "2028", "2029"]),
    ("port", &["8080", "5432", "9096", "4443", "6379", "8384"]),
    ("n", &["14", "30", "120", "500", "64", "90", "1000", "250"]),
    ("small", &["2", "3", "4", "5", "8", "12"]),
    ("digit", &["1", "2", "3", "5", "7", "8"]),
];

/// Each label gets its share, each template of a label its turn, each slot a value by chance.
fn generate(text: &'static str, count: usize, seed: u64) -> Vec<Message> {
    let templates = parse(text);
    let mut rng = Chance(seed);
    let mut turns = vec![0; templates.len()];
    let mut made = Vec::with_capacity(count);
    while made.len() < count {
        let at = made.len() % templates.len();
        let (label, lines) = &templates[at];
        let template = lines[turns[at] % lines.len()];
        turns[at] += 1;
        made.push(Message { label, text: styled(&filled(template, &mut rng), &mut rng) });
    }
    made
}

fn parse(text: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let label = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match label.filter(|label| label.chars().all(|c| c.is_ascii_lowercase() || c == ' ')) {
            Some(label) => groups.push((label, Vec::new())),
            None => groups.last_mut().expect("templates stand below a label").1.push(line),
        }
    }
    groups
}

fn filled(template: &str, rng: &mut Chance) -> String {
    let mut out = template.replace("\\n", "\n").replace("\\t", "\t").replace("\\u200b", "\u{200b}");
    for (slot, values) in SLOTS {
        let name = format!("{{{slot}}}");
        while let Some(at) = out.find(&name) {
            out.replace_range(at..at + name.len(), values[rng.below(values.len())]);
        }
    }
    out
}

/// People and models do not write alike: some leave out the full stop, some begin in lower case.
fn styled(text: &str, rng: &mut Chance) -> String {
    match rng.below(6) {
        0 => text.trim_end_matches('.').to_owned(),
        1 if !text.contains('\n') => {
            let mut chars = text.chars();
            chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
        }
        2 => format!("{text}\n"),
        _ => text.to_owned(),
    }
}

/// A sequence that is the same for the same seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}
