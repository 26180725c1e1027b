//! The sections and keys of config.yaml. The doc comment of a key is its manual entry.
//!
//! Which values do not go together is in `combinations.rs`.

use std::net::SocketAddr;

use crate::forms::{
    AbsolutePath, Argument, BranchName, ChatChannel, HostName, MailAddress, ProxyAddress, QuietHours,
    RemoteUrl, SecretRef, ServerUrl, VariablePrefix,
};
use crate::outlet::Outlet;
use crate::pattern::{Pattern, Tenths};
use crate::section::section;
use crate::service::GatewayService;
use crate::target::StewardTarget;
use crate::value::{Items, choice};

section! {
    /// The control plane's own settings.
    pub struct Config {
        ..health: Health;
        ..log: Log;
        ..journal: Journal;
        ..disk: Disk;
        ..backup: Backup;
        ..verify: Verify;
        ..notifications: Notifications;
        ..approvals: Approvals;
        ..gateway: Gateway;
        ..credentials: Credentials;
        ..guard: Guard;
        ..steward: Steward;
        ..memory: Memory;
        ..egress: Egress;
        ..shutdown: Shutdown;
        ..control: Control;
    }
}

section! {
    /// The health checks and the page that shows them.
    pub struct Health {
        /// Where health and metrics can be asked for over HTTP. Nothing there asks who is asking, so it is a
        /// loopback address unless `allow_remote` is `true`.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 9095)), restart;
        /// Allows `listen` to be an address that other machines can reach.
        allow_remote: bool = false, restart;
        /// Further host names under which it is asked, as by a Prometheus that scrapes it by name. It answers requests for `localhost`, for the host of
        /// `gateway.address`, for a loopback address and for the address that was connected to; a request for any other host is refused, since a
        /// web page could have led a browser here under a name of its own.
        hosts: Vec<HostName> = Vec::new(), restart, Items::at_most(16);
        /// Minutes between two rounds of checks.
        interval_minutes: u32 = 5, live, 1..=1440;
        /// Seconds a round of checks may take. It must end before the next one begins.
        timeout_seconds: u32 = 30, live, 1..=300;
    }
}

choice! {
    /// How much is logged.
    pub enum Level {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

choice! {
    /// How a line of the log looks.
    pub enum Format {
        Text = "text",
        Json = "json",
    }
}

section! {
    /// What the program says about its own work.
    pub struct Log {
        /// How much is logged. `info` is what an operator would tell a colleague.
        level: Level = Level::Info, live;
        /// Lines for people, or one JSON object per line for programs.
        format: Format = Format::Text, restart;
    }
}

section! {
    /// Sizes and ages of the journal. What is acknowledged is kept whatever is written here.
    pub struct Journal {
        /// A segment is closed before it would grow beyond this many MiB.
        segment_mib: u32 = 10, restart, 1..=1024;
        /// A segment is closed when its first entry is this many minutes old and another one comes.
        segment_age_minutes: u32 = 60, restart, 1..=10_080;
        /// A checkpoint is signed whenever this many more entries are there.
        checkpoint_every: u32 = 100, restart, 1..=100_000;
        /// How many of the newest segments stay here whatever is in the archive.
        keep_segments: u32 = 10, restart, 1..=10_000;
        /// From this many MiB on the status warns. At least `segment_mib` times `keep_segments`, or the warning
        /// would never end.
        warn_mib: u32 = 120, restart, 1..=1_048_576;
        /// Beyond this many MiB nothing is taken until something has left for the archive. Above `warn_mib`. The last sixteenth, at most
        /// 16 MiB, is kept for what people do.
        cap_mib: u32 = 4096, restart, 2..=1_048_576;
        /// A directory that closed segments are copied to, so that they may leave here.
        archive: Option<AbsolutePath> = None, restart;
    }
}

section! {
    /// How much of the disk the program may use.
    pub struct Disk {
        /// MiB that all state together may have.
        budget_mib: u32 = 8192, live, 64..=1_048_576;
        /// From this part of the budget on, in per cent, space is tight and what can wait waits.
        tight_percent: u32 = 90, live, 50..=99;
    }
}

section! {
    /// Copies of what cannot be rebuilt.
    pub struct Backup {
        /// Whether copies are made.
        enabled: bool = true, live;
        /// Hours between two copies.
        every_hours: u32 = 24, live, 1..=720;
        /// How many copies are kept. The oldest goes when a newer one is whole.
        keep: u32 = 7, live, 1..=365;
    }
}

section! {
    /// The full check of the journal in the background.
    pub struct Verify {
        /// Hours between two full checks; 0 means never. Every start checks the end of the journal anyway.
        every_hours: u32 = 24, live, 0..=8760;
    }
}

choice! {
    /// How much something matters.
    pub enum Severity {
        Info = "info",
        Warning = "warning",
        Critical = "critical",
    }
}

choice! {
    /// A way a notification goes out.
    pub enum Channel {
        Log = "log",
        Webhook = "webhook",
        Slack = "slack",
        Discord = "discord",
        Ntfy = "ntfy",
        Mail = "mail",
    }
}

choice! {
    /// How a mail server is spoken to.
    pub enum MailSecurity {
        Starttls = "starttls",
        Tls = "tls",
        Nothing = "none",
    }
}

section! {
    /// Who is told when something happens.
    pub struct Notifications {
        /// Whether notifications go out.
        enabled: bool = true, live;
        /// The least severity that is told, where a channel does not say otherwise.
        min_severity: Severity = Severity::Warning, live;
        /// The ways they go out. The log is always one of them. `webhook` needs `webhook.url` and `webhook.sign_with`, `slack` needs
        /// `slack.url`, `discord` needs `discord.url`, `ntfy` needs `ntfy.topic`, `mail` needs `mail.host`, `mail.from` and `mail.to`.
        channels: Vec<Channel> = vec![Channel::Log], live, Items::at_most(6);
        ..webhook: Webhook;
        ..slack: Slack;
        ..discord: Discord;
        ..ntfy: Ntfy;
        ..mail: Mail;
        ..alive: Alive;
    }
}

section! {
    /// Somebody outside who is called regularly, and notices when the calls stop: a dead man's switch.
    pub struct Alive {
        /// The secret that holds the URL. It is fetched with GET while every safety part of the daemon is alive.
        url: Option<SecretRef> = None, live;
        /// Minutes between two calls.
        every_minutes: u32 = 5, live, 1..=1440;
    }
}

section! {
    /// Notifications as signed HTTPS requests.
    pub struct Webhook {
        /// The secret that holds the URL. A webhook's URL is often its password.
        url: Option<SecretRef> = None, live;
        /// The secret that requests are signed with, so that the receiver knows they are ours.
        sign_with: Option<SecretRef> = None, live;
        /// The least severity that is told here; without it, `notifications.min_severity`.
        min_severity: Option<Severity> = None, live;
        /// When only what is critical is told here, by the clock of a place. What waits is told as one message afterwards.
        quiet_hours: Option<QuietHours> = None, live;
        /// Seconds one attempt may take.
        timeout_seconds: u32 = 10, live, 1..=60;
        /// Hosts that may be called although their address is private. All other private addresses are refused.
        allow_hosts: Vec<HostName> = Vec::new(), live, Items::at_most(32);
    }
}

section! {
    /// Notifications in a channel of Slack.
    pub struct Slack {
        /// The secret that holds the URL of the incoming webhook. Whoever knows it can write to the channel.
        url: Option<SecretRef> = None, live;
        /// Another channel than the webhook's own. Webhooks of an app pass it over; Slack's older ones follow it.
        channel: Option<ChatChannel> = None, live;
        /// The least severity that is told here; without it, `notifications.min_severity`.
        min_severity: Option<Severity> = None, live;
        /// When only what is critical is told here, by the clock of a place. What waits is told as one message afterwards.
        quiet_hours: Option<QuietHours> = None, live;
        /// Seconds one attempt may take.
        timeout_seconds: u32 = 10, live, 1..=60;
        /// Hosts that may be called although their address is private. All other private addresses are refused.
        allow_hosts: Vec<HostName> = Vec::new(), live, Items::at_most(32);
    }
}

section! {
    /// Notifications in a channel of Discord. For a thread of it, end the URL with `?thread_id=` and its number.
    pub struct Discord {
        /// The secret that holds the URL of the webhook. Whoever knows it can write to the channel.
        url: Option<SecretRef> = None, live;
        /// The least severity that is told here; without it, `notifications.min_severity`.
        min_severity: Option<Severity> = None, live;
        /// When only what is critical is told here, by the clock of a place. What waits is told as one message afterwards.
        quiet_hours: Option<QuietHours> = None, live;
        /// Seconds one attempt may take.
        timeout_seconds: u32 = 10, live, 1..=60;
        /// Hosts that may be called although their address is private. All other private addresses are refused.
        allow_hosts: Vec<HostName> = Vec::new(), live, Items::at_most(32);
    }
}

section! {
    /// Notifications on phones through ntfy.
    pub struct Ntfy {
        /// The server; without it, the public one of ntfy (ntfy.sh). A name or address of your own network may be `http://`.
        server: Option<ServerUrl> = None, live;
        /// The secret that holds the name of the topic. Whoever knows it can read along, unless the server asks who is asking.
        topic: Option<SecretRef> = None, live;
        /// The secret that holds an access token, where the server wants one.
        token: Option<SecretRef> = None, live;
        /// The least severity that is told here; without it, `notifications.min_severity`.
        min_severity: Option<Severity> = None, live;
        /// When only what is critical is told here, by the clock of a place. What waits is told as one message afterwards.
        quiet_hours: Option<QuietHours> = None, live;
        /// Seconds one attempt may take.
        timeout_seconds: u32 = 10, live, 1..=60;
    }
}

section! {
    /// Notifications by mail, handed in at a mail server.
    pub struct Mail {
        /// The mail server.
        host: Option<HostName> = None, live;
        /// Its port: 587 for `starttls`, 465 for `tls`, 25 for a server on this machine.
        port: u32 = 587, live, 1..=65_535;
        /// How it is spoken to: `starttls` encrypts after a few lines and sends nothing where that fails, `tls` from the first
        /// byte. `none` is for a server on this machine alone.
        security: MailSecurity = MailSecurity::Starttls, live;
        /// The secret that holds the user's name, where the server wants one.
        user: Option<SecretRef> = None, live;
        /// The secret that holds the user's password.
        password: Option<SecretRef> = None, live;
        /// Who the mail is from.
        from: Option<MailAddress> = None, live;
        /// Who gets it. One whom the server does not take keeps nobody else from getting it.
        to: Vec<MailAddress> = Vec::new(), live, Items::at_most(16);
        /// A file of certificates (PEM) that the server's may come from, beside those this machine trusts.
        ca_file: Option<AbsolutePath> = None, live;
        /// The least severity that is told here; without it, `notifications.min_severity`.
        min_severity: Option<Severity> = None, live;
        /// When only what is critical is told here, by the clock of a place. What waits is told as one message afterwards.
        quiet_hours: Option<QuietHours> = None, live;
        /// Seconds one attempt may take.
        timeout_seconds: u32 = 20, live, 1..=60;
    }
}

section! {
    /// What people are asked to allow.
    pub struct Approvals {
        ..webhook: VerdictDoor;
    }
}

section! {
    /// Verdicts that were signed elsewhere, handed in over HTTP.
    pub struct VerdictDoor {
        /// Where they are taken, as `POST /approvals/verdict`. Without it, nowhere. A verdict is believed for its signature and for
        /// nothing else, but nothing here is encrypted: it is a loopback address unless `allow_remote` is `true`.
        listen: Option<SocketAddr> = None, restart;
        /// Allows `listen` to be an address that other machines can reach.
        allow_remote: bool = false, restart;
        /// How many attempts a minute are looked at from one address; four times as many from all together.
        per_minute: u32 = 30, restart, 1..=600;
    }
}

section! {
    /// The gateway: where people sign in with passkeys from a browser, look, and decide.
    pub struct Gateway {
        /// Whether it is open.
        enabled: bool = true, restart;
        /// Where it listens. Without a certificate (`tls.from`) this is a loopback address, unless a proxy is in front; other machines then come through
        /// `ssh -L`.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 9096)), restart;
        /// The address people use, as their browser shows it, like `https://hold.example`. Passkeys belong to its host name and to no other, so
        /// it is not to be changed lightly. Without it, `http://localhost` with the port of `listen`.
        address: Option<ServerUrl> = None, restart;
        /// Hours without a request after which a person is signed out.
        idle_hours: u32 = 12, restart, 1..=720;
        /// Days after which a person is signed out in any case.
        session_days: u32 = 30, restart, 1..=365;
        /// Programs of this machine that people reach through the gateway once they are signed in, each under a host name of its own: a `name`, that
        /// `host`, and `to`, where it answers: a loopback address with a port, or the absolute path of a socket. `role` (owner) is the least
        /// that may use it: `viewer`, `operator` or `owner`. `user` is whose program it is, by name (of /etc/passwd) or number: while it is down anybody on this
        /// machine may listen there, so requests go only to a program of that user, of root or of the daemon's own. It never sees the gateway's cookies.
        services: Vec<GatewayService> = Vec::new(), restart, Items::at_most(32);
        /// The proxies in front that end TLS, for `tls.from: proxy`: addresses or networks from which they connect. Nobody else may connect then. Who
        /// calls is read from their `X-Forwarded-For`, and `X-Forwarded-Proto` has to be `https`.
        proxies: Vec<ProxyAddress> = Vec::new(), restart, Items::at_most(16);
        ..tls: GatewayTls;
    }
}

choice! {
    /// Where the gateway's certificate comes from.
    pub enum CertificateFrom {
        Nowhere = "none",
        Files = "files",
        Local = "local",
        Acme = "acme",
        Proxy = "proxy",
    }
}

section! {
    /// The gateway's certificate.
    pub struct GatewayTls {
        /// Where it comes from: `files` of your own, a `local` authority that this machine makes and phones have to be told of once, or `acme`,
        /// an authority like Let's Encrypt that finds this machine at its address on port 443. `proxy` is a proxy of yours in front
        /// that has one (`gateway.proxies`). `none` is plain HTTP, for loopback alone.
        from: CertificateFrom = CertificateFrom::Nowhere, restart;
        /// The certificate with those above it (PEM), for `files`. Read again when it changes.
        chain: Option<AbsolutePath> = None, restart;
        /// Its key (PEM), for `files`.
        key: Option<AbsolutePath> = None, restart;
        /// The authority's directory, for `acme`.
        directory: Option<ServerUrl> = None, restart;
        /// Whom the authority may write to, for `acme`.
        contact: Option<MailAddress> = None, restart;
        /// A certificate (PEM) that the authority's own has to come from, instead of those this machine trusts: for an authority of your own.
        ca_file: Option<AbsolutePath> = None, restart;
    }
}

choice! {
    /// Where a secret can come from.
    pub enum SecretSource {
        Systemd = "systemd",
        AgeFile = "age_file",
        Environment = "environment",
        Command = "command",
    }
}

section! {
    /// Where secrets come from. The configuration only ever names them.
    pub struct Credentials {
        /// The sources that are asked, in this order; the first that knows the name answers.
        sources: Vec<SecretSource> = vec![SecretSource::Systemd, SecretSource::Environment], restart, Items::at_most(4);
        /// The encrypted file that the source `age_file` reads.
        age_file: Option<AbsolutePath> = None, restart;
        /// The file with the identity that opens `age_file`.
        age_identity: Option<AbsolutePath> = None, restart;
        /// What the names of variables with secrets begin with, for the source `environment`.
        environment_prefix: VariablePrefix = VariablePrefix::own(), restart;
        /// The program that the source `command` runs, with its arguments, one of which has `{name}`: it becomes
        /// the name of the secret. No shell is involved, and the program is an absolute path.
        command: Vec<Argument> = Vec::new(), restart, Items::at_most(32);
        /// Seconds one source may take to answer.
        timeout_seconds: u32 = 10, restart, 1..=60;
    }
}

choice! {
    /// What becomes of what tells of people.
    pub enum PersonalData {
        Keep = "keep",
        Redact = "redact",
    }
}

section! {
    /// What is taken out of whatever is written down. The built-in rules always hold; these are added to them.
    pub struct Guard {
        /// Bits per character from which a long word counts as random, and so as a secret, in sentences.
        entropy_threshold: Tenths = Tenths::new(45), live, 10..=80;
        /// The shortest word that counts as a secret for looking random.
        min_entropy_length: u32 = 20, live, 8..=200;
        /// Whether mail addresses, phone numbers and the like stay in the journal's texts. Who did something always stays.
        personal_data_in_journal: PersonalData = PersonalData::Keep, live;
        /// Patterns of your own: what a regular expression finds is replaced, or with `block: true` refuses the whole
        /// text. `found` and `kept` are examples that are tried whenever the configuration is read.
        custom_patterns: Vec<Pattern> = Vec::new(), live, Items::at_most(200);
    }
}

section! {
    /// The steward: what it looks after, and how far it may go there. At what level a target is, and what was learned
    /// about it, is in the journal and not here.
    pub struct Steward {
        /// The targets. Each has a `name` and a `driver`. `systemd` is a host with systemd and a doorman, reached over SSH at its
        /// `address` and `port` (22): as `observer` (holdfast-observer), a user without rights, it is looked at, and as `actor`
        /// (root) changed. `agentless` is a host without a doorman: it is looked at over an ordinary account and never changed;
        /// so is `local`, the machine the daemon runs on. Their keys and the pinned host key lie in the state directory. Each of
        /// these has `units`, the services that are looked after, the most important one first, and may have an `endpoint`
        /// where that one answers, as `address:port` or as a page (`https://box-1.lan/health`, any status below 400). `probes` are further looks from outside,
        /// all of which have to be well: `tcp://HOST:PORT`, `ssh://HOST`, `icmp://HOST`, `tls://HOST:PORT?days=14`, a page, what a Gatus
        /// monitor says (`gatus+https://MONITOR/#KEY`), and what a VPN says (`tailscale:ID`, the peer's stable id), which alone never undoes
        /// anything. Where there is no `endpoint` the first of them is where the first service answers. `references` are such looks at
        /// others: while none of them answers it is this machine that is cut off, and nothing counts against the target.
        /// `memory_budget_mib` (3584) is what all memory limits together stay under.
        /// `sim` is a modelled host inside the daemon on which the steward can be tried out: `seed` (0) chooses how it fares. `speed`
        /// (1) is how many times faster than real time that host and its steward live, up to 3600: their hours pass in seconds, and
        /// everything that tells of them says so. `trouble` (mixed) is what goes wrong there after half a quiet day: `memory`,
        /// `processor`, `nice`, `leak`, a hungry `neighbour`, `nothing`, or `mixed`, all of these in turn with quiet times
        /// between. `starts_at` (observe) is where a modelled host begins on the ladder. For all: `detector` (lookout) is what
        /// notices change; `plain` needs `holdfast steward calibrate`. `planning_interval_hours` (72) is after how long
        /// without a lasting change a cycle of planning runs anyway. `without_effect` (propose) says what becomes of a change that was
        /// kept and changed nothing within a day: `propose` has the next quiet cycle propose the way back, `revert` goes back, `keep`
        /// leaves it. `window_seconds` (600) is how long a trial is watched before
        /// it is kept. `limits` has `trials_per_day` (3), started within any 24 hours, and `rollbacks_in_a_row` (3), after
        /// which nothing is tried until a person resets the breaker.
        targets: Vec<StewardTarget> = Vec::new(), restart, Items::at_most(256);
        ..tripwire: Tripwire;
        ..history: History;
    }
}

choice! {
    /// Where people are asked about what was applied.
    pub enum Forge {
        Nobody = "none",
        Forgejo = "forgejo",
        Github = "github",
    }
}

section! {
    /// What was applied, as git. The daemon keeps a repository in the state directory; here is where else it is shown.
    pub struct History {
        /// A git repository elsewhere that what was kept is pushed to: `https://host/owner/name.git`, or `file:///folder`. Nothing is pushed
        /// before it was verified on its target.
        remote: Option<RemoteUrl> = None, live;
        /// The secret that holds the token for it. It needs to write contents and change requests of that one repository, and nothing else: no
        /// workflows, no settings, no other repository.
        token: Option<SecretRef> = None, live;
        /// What answers there. With `forgejo` (also for Gitea) or `github` a change request with the label `steward` is opened for each change that was
        /// kept.
        forge: Forge = Forge::Nobody, live;
        /// The branch there that change requests are to be merged into. It is made when it is not there, and is people's from then on.
        base: BranchName = BranchName::main(), live;
    }
}

section! {
    /// The guard beside the steward, a process of its own. Without one nothing is tried on real hosts.
    pub struct Tripwire {
        /// The folder of the window records, which the daemon and the guard both write and nobody else can. Without it they lie in
        /// the state directory.
        windows: Option<AbsolutePath> = None, restart;
        /// The folder in which the guard's heart beats: its `run`.
        hearts: Option<AbsolutePath> = None, restart;
    }
}

section! {
    /// What agents remember. Commands work whatever is set here.
    pub struct Memory {
        /// Whether the daemon looks after memory by itself: decides what stays, and gives memories their vectors in quiet moments.
        tended: bool = true, live;
        /// Minutes between two consolidations.
        consolidate_minutes: u32 = 60, live, 1..=1440;
        /// The folder of the embedding model, where it is not in the state directory.
        model: Option<AbsolutePath> = None, live;
    }
}

section! {
    /// Which destinations of the network the users of the daemon and of the tripwire may reach, on a system install. What other settings name is
    /// reachable by itself; all else is refused and logged. See `holdfast egress show`.
    pub struct Egress {
        /// Destinations that no other setting names. Each has a `host`, a `port`, and `for`, which says what wants it: a few words, or
        /// the setting whose address is a secret, such as `notifications.webhook.url`. `protocol` (tcp) may be `udp`, or `icmp` for
        /// echoes, which has no port. `user` (daemon) may be `tripwire`.
        also: Vec<Outlet> = Vec::new(), live, Items::at_most(64);
    }
}

section! {
    /// How the program ends.
    pub struct Shutdown {
        /// Seconds that work under way gets to finish before it is cut off.
        grace_seconds: u32 = 10, restart, 1..=300;
    }
}

section! {
    /// The socket that commands talk to.
    pub struct Control {
        /// How many commands may be connected at once.
        clients_max: u32 = 256, restart, 8..=4096;
    }
}

impl Ntfy {
    /// The server, or the public one.
    pub fn address(&self) -> &str {
        self.server.as_ref().map_or("https://ntfy.sh", ServerUrl::as_str)
    }
}
