//! Wrong configurations, in groups. Each is refused, and what is said about it is in `tests/snapshots`.
#![allow(dead_code, reason = "each test file uses its groups")]

pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Without its version, which is put before it unless the case is about the version.
    pub(crate) file: &'static [u8],
    pub(crate) environment: &'static [(&'static str, &'static str)],
    pub(crate) sets: &'static [&'static str],
}

const fn file(name: &'static str, file: &'static str) -> Case {
    Case { name, file: file.as_bytes(), environment: &[], sets: &[] }
}

const fn bytes(name: &'static str, file: &'static [u8]) -> Case {
    Case { name, file, environment: &[], sets: &[] }
}

const fn variable(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Case {
    Case { name, file: b"version: 1\n", environment, sets: &[] }
}

const fn set(name: &'static str, sets: &'static [&'static str]) -> Case {
    Case { name, file: b"version: 1\n", environment: &[], sets }
}

pub(crate) const KEYS: &[Case] = &[
    file("a misspelt section", "version: 1\nhelth:\n  interval_minutes: 5\n"),
    file("a misspelt key", "version: 1\nhealth:\n  intervall_minutes: 5\n"),
    file("a key in camel case", "version: 1\nhealth:\n  intervalMinutes: 5\n"),
    file("a key with dashes", "version: 1\nhealth:\n  interval-minutes: 5\n"),
    file("a key without its unit", "version: 1\nhealth:\n  interval: 5\n"),
    file("a key of another section", "version: 1\nlog:\n  interval_minutes: 5\n"),
    file("a key of several other sections", "version: 1\nlog:\n  timeout_seconds: 5\n"),
    file("a key outside its section", "version: 1\nmin_severity: info\n"),
    file("a part outside its section", "version: 1\nwebhook:\n  timeout_seconds: 5\n"),
    file("nearly a key of another section", "version: 1\nlog:\n  tight_percents: 5\n"),
    file("a key nobody knows", "version: 1\nlog:\n  colour: red\n"),
    file("a section nobody knows", "version: 1\nobservability:\n  otlp: true\n"),
    file("a path as a key", "version: 1\nlog.level: debug\nnotifications: { webhook.timeout_seconds: 5 }\n"),
    file("a path as a section", "version: 1\nnotifications.webhook:\n  timeout_seconds: 5\n"),
    file("a capital letter", "version: 1\nHealth:\n  listen: 127.0.0.1:1\n"),
    file("a key in a nested part", "version: 1\nnotifications:\n  webhook:\n    timout_seconds: 5\n"),
    file("a key written twice", "version: 1\nlog:\n  level: info\n  format: json\n  level: debug\n"),
    file("a section written twice", "version: 1\nlog:\n  level: info\nlog:\n  format: json\n"),
    file("a key written twice in braces", "version: 1\nlog: { level: info, level: debug }\n"),
    file("a section that is a text", "version: 1\nlog: debug\n"),
    file("a section that is a list", "version: 1\nlog:\n  - level: debug\n"),
    file("a section in brackets", "version: 1\nbackup: [enabled]\n"),
    file(
        "several mistakes at once",
        "version: 1\nshutdown:\n  grace_seconds: 0\nlog:\n  level: loud\n  fromat: json\nhelth: {}\n",
    ),
];

pub(crate) const TYPES: &[Case] = &[
    file("text for a number", "version: 1\nhealth:\n  interval_minutes: five\n"),
    file("a quoted number", "version: 1\nhealth:\n  interval_minutes: \"5\"\n"),
    file("a fraction", "version: 1\nhealth:\n  interval_minutes: 5.0\n"),
    file("a number with a unit", "version: 1\nhealth:\n  interval_minutes: 5m\n"),
    file("a hexadecimal number", "version: 1\njournal:\n  segment_mib: 0x10\n"),
    file("a number with a leading zero", "version: 1\njournal:\n  segment_mib: 010\n"),
    file("an exponent", "version: 1\njournal:\n  cap_mib: 1e4\n"),
    file("a list for a number", "version: 1\nhealth:\n  interval_minutes: [5]\n"),
    file("a map for a number", "version: 1\nhealth:\n  interval_minutes:\n    minutes: 5\n"),
    file("nothing for a number", "version: 1\nhealth:\n  interval_minutes:\n"),
    file("null for a number", "version: 1\nhealth:\n  interval_minutes: null\n"),
    file("a switch with yes", "version: 1\nbackup:\n  enabled: yes\n"),
    file("a switch with off", "version: 1\nbackup:\n  enabled: off\n"),
    file("a switch with a capital", "version: 1\nbackup:\n  enabled: True\n"),
    file("a quoted switch", "version: 1\nbackup:\n  enabled: \"false\"\n"),
    file("a switch with a number", "version: 1\nbackup:\n  enabled: 1\n"),
    file("a misspelt choice", "version: 1\nlog:\n  level: inof\n"),
    file("a choice nobody knows", "version: 1\nlog:\n  level: verbose\n"),
    file("a choice in capitals", "version: 1\nlog:\n  level: INFO\n"),
    file("a number for a choice", "version: 1\nlog:\n  level: 3\n"),
    file("a list for a choice", "version: 1\nlog:\n  format: [json]\n"),
    file("an address without a port", "version: 1\nhealth:\n  listen: 127.0.0.1\n"),
    file("a name for an address", "version: 1\nhealth:\n  listen: localhost:9095\n"),
    file("a port alone", "version: 1\nhealth:\n  listen: 9095\n"),
    file("port 0", "version: 1\nhealth:\n  listen: 127.0.0.1:0\n"),
    file("an IPv6 address without quotes", "version: 1\nhealth:\n  listen: [::1]:9095\n"),
    file("a relative path", "version: 1\njournal:\n  archive: backup/segments\n"),
    file("a path with dots", "version: 1\njournal:\n  archive: /srv/../etc\n"),
    file("a path from home", "version: 1\njournal:\n  archive: ~/segments\n"),
    file("a single value for a list", "version: 1\nnotifications:\n  channels: log\n"),
    file("an item nobody knows", "version: 1\nnotifications:\n  channels: [log, pager]\n"),
    file("an item twice", "version: 1\nnotifications:\n  channels:\n    - log\n    - log\n"),
    file("a list in a list", "version: 1\nnotifications:\n  channels: [[log]]\n"),
    file(
        "a URL for a host",
        "version: 1\nnotifications:\n  webhook:\n    allow_hosts: [\"https://a.example/x\"]\n",
    ),
    file("a host in capitals", "version: 1\nnotifications:\n  webhook:\n    allow_hosts: [A.example]\n"),
    file(
        "too many items",
        "version: 1\nnotifications:\n  channels: [log, webhook, slack, discord, ntfy, mail, log]\n",
    ),
    file(
        "quiet hours without a place",
        "version: 1\nnotifications:\n  slack:\n    quiet_hours: 22:00-07:00\n",
    ),
    file(
        "quiet hours that never begin",
        "version: 1\nnotifications:\n  slack:\n    quiet_hours: 07:00-07:00 UTC\n",
    ),
    file(
        "quiet hours with a path",
        "version: 1\nnotifications:\n  slack:\n    quiet_hours: 22:00-07:00 ../../etc/passwd\n",
    ),
    file(
        "an address of mail with a name",
        "version: 1\nnotifications:\n  mail:\n    from: Ana <ana@example.org>\n",
    ),
    file(
        "an address of mail with a line of its own",
        "version: 1\nnotifications:\n  mail:\n    to: [\"ana@example.org\\r\\nBcc: ben@example.org\"]\n",
    ),
    file(
        "a server with a topic as its query",
        "version: 1\nnotifications:\n  ntfy:\n    server: https://a.example?x\n",
    ),
    file("a prefix in small letters", "version: 1\ncredentials:\n  environment_prefix: secret_\n"),
    file("a prefix of settings", "version: 1\ncredentials:\n  environment_prefix: HOLDFAST_\n"),
    file("a command as one text", "version: 1\ncredentials:\n  command: /usr/bin/pass show {name}\n"),
    file("a pattern that is a text", "version: 1\nguard:\n  custom_patterns: [badge]\n"),
    file(
        "a pattern with another key",
        "version: 1\nguard:\n  custom_patterns:\n    - name: badge\n      regexp: \"[A-Z]\"\n",
    ),
    file("a target that is a text", "version: 1\nsteward:\n  targets: [box-1]\n"),
    file("a target without a driver", "version: 1\nsteward:\n  targets: [{ name: box-1 }]\n"),
    file(
        "a target with a driver that there is not",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: systmd }\n",
    ),
    file(
        "a real target without an address",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: systemd, units: [web.service] }\n",
    ),
    file(
        "a real target with a seed",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: systemd, address: box-1, units: [web.service], seed: 3 }\n",
    ),
    file(
        "a target whose address would be an option",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: systemd, address: -oProxyCommand=x, units: [web.service] }\n",
    ),
    file(
        "a target with a unit twice",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: local, units: [web.service, web.service] }\n",
    ),
    file(
        "a local target with an actor",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: local, units: [web.service], actor: root }\n",
    ),
    file(
        "a target that lives too fast",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: sim, speed: 5000 }\n",
    ),
    file(
        "a target with a misspelt key",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: sim, sped: 5 }\n",
    ),
    file(
        "a target with a limit nobody knows",
        "version: 1\nsteward:\n  targets:\n    - { name: box-1, driver: sim, limits: { trials: 5 } }\n",
    ),
    file(
        "a target with a name that is none",
        "version: 1\nsteward:\n  targets:\n    - { name: Box 1, driver: sim }\n",
    ),
    file("a pattern without an expression", "version: 1\nguard:\n  custom_patterns: [{ name: badge }]\n"),
    file("a number in a command", "version: 1\ncredentials:\n  command: [/usr/bin/pass, 5]\n"),
];

pub(crate) const RANGES: &[Case] = &[
    file(
        "a service's name longer than the door takes",
        "version: 1\ngateway:\n  services: [{ name: a-name-that-has-a-letter-too-many, host: a.localhost, to: 127.0.0.1:1 }]\n",
    ),
    file("below the range", "version: 1\nhealth:\n  interval_minutes: 0\n"),
    file("above the range", "version: 1\nhealth:\n  interval_minutes: 1441\n"),
    file("a negative number", "version: 1\nbackup:\n  keep: -1\n"),
    file("a number that is far too large", "version: 1\ndisk:\n  budget_mib: 5000000000\n"),
    file("a number that no machine holds", "version: 1\ndisk:\n  budget_mib: 99999999999999999999\n"),
    file("all of the disk is never tight", "version: 1\ndisk:\n  tight_percent: 100\n"),
    file("no grace", "version: 1\nshutdown:\n  grace_seconds: 0\n"),
    file("hardly any clients", "version: 1\ncontrol:\n  clients_max: 1\n"),
    file("everything is random", "version: 1\nguard:\n  entropy_threshold: 0.5\n"),
    file("a threshold with two places", "version: 1\nguard:\n  entropy_threshold: 4.25\n"),
];

pub(crate) const COMBINATIONS: &[Case] = &[
    file("an address others can reach", "version: 1\nhealth:\n  listen: 0.0.0.0:9095\n"),
    file(
        "an address others can reach, said twice",
        "version: 1\nhealth:\n  listen: 192.0.2.7:9095\n  allow_remote: false\n",
    ),
    file("verdicts from anywhere", "version: 1\napprovals:\n  webhook: { listen: 0.0.0.0:9096 }\n"),
    file("a gateway others can reach without TLS", "version: 1\ngateway:\n  listen: 0.0.0.0:9096\n"),
    file(
        "an address in numbers",
        "version: 1\ngateway:\n  address: https://127.0.0.1:9096\n  tls: { from: local }\n",
    ),
    file(
        "an address in numbers of IPv6",
        "version: 1\ngateway:\n  address: https://[::1]:9096\n  tls: { from: local }\n",
    ),
    file(
        "an encrypted address that nobody encrypts",
        "version: 1\ngateway:\n  address: https://hold.example\n",
    ),
    file(
        "a proxy in front that is not named",
        "version: 1\ngateway:\n  address: https://hold.example\n  tls: { from: proxy }\n",
    ),
    file(
        "proxies that nobody asks",
        "version: 1\ngateway:\n  address: https://hold.example\n  proxies: [10.0.0.2]\n  tls: { from: local }\n",
    ),
    file(
        "the whole world as a proxy",
        "version: 1\ngateway:\n  address: https://hold.example\n  proxies: [0.0.0.0/0]\n  tls: { from: proxy }\n",
    ),
    file(
        "a check longer than its interval",
        "version: 1\nhealth:\n  timeout_seconds: 60\n  interval_minutes: 1\n",
    ),
    file("a warning that never ends", "version: 1\njournal:\n  segment_mib: 20\n"),
    file(
        "a warning that never ends, all written",
        "version: 1\njournal:\n  keep_segments: 5\n  segment_mib: 20\n  warn_mib: 99\n",
    ),
    file("a cap below the warning", "version: 1\njournal:\n  cap_mib: 120\n"),
    file(
        "two targets with one name",
        "version: 1\nsteward:\n  targets: [{ name: a, driver: sim }, { name: a, driver: sim, seed: 2 }]\n",
    ),
    file(
        "a pattern named as a built-in kind",
        "version: 1\nguard:\n  custom_patterns:\n    - name: private_key_pem\n      regex: never\n",
    ),
    file(
        "a pattern that is no expression",
        "version: 1\nguard:\n  custom_patterns: [{ name: badge, regex: \"[\" }]\n",
    ),
    file(
        "a pattern that misses its own example",
        "version: 1\nguard:\n  custom_patterns: [{ name: badge, regex: \"[A-Z]{2}-[0-9]{4}\", found: [AB-12] }]\n",
    ),
    file("a warning above the cap", "version: 1\njournal:\n  warn_mib: 5000\n"),
    file("a webhook without url and signature", "version: 1\nnotifications:\n  channels: [log, webhook]\n"),
    file(
        "a webhook without signature",
        "version: 1\nnotifications:\n  channels: [webhook]\n  webhook:\n    url: { secret: hook }\n",
    ),
    file(
        "a webhook whose url is null",
        "version: 1\nnotifications:\n  channels: [webhook]\n  webhook:\n    url: null\n    sign_with: { secret: key }\n",
    ),
    file(
        "channels without what they need",
        "version: 1\nnotifications:\n  channels: [slack, discord, ntfy, mail]\n",
    ),
    file(
        "mail without encryption to another machine, with a user and no password",
        "version: 1\nnotifications:\n  channels: [mail]\n  mail:\n    host: mail.example.org\n    security: none\n    \
         from: a@example.org\n    to: [b@example.org]\n    user: { secret: user }\n",
    ),
    file("age without its files", "version: 1\ncredentials:\n  sources: [age_file]\n"),
    file(
        "age without its identity",
        "version: 1\ncredentials:\n  sources: [age_file]\n  age_file: /etc/holdfast/secrets.age\n",
    ),
    file("a command source without a command", "version: 1\ncredentials:\n  sources: [command]\n"),
    file(
        "a command that is looked for",
        "version: 1\ncredentials:\n  sources: [command]\n  command: [pass, show, \"{name}\"]\n",
    ),
    Case {
        name: "a combination across layers",
        file: b"version: 1\njournal:\n  segment_mib: 20\n",
        environment: &[("HOLDFAST_JOURNAL__WARN_MIB", "150")],
        sets: &["journal.keep_segments=8"],
    },
];

pub(crate) const SECRETS: &[Case] = &[
    file(
        "the URL of a chat",
        "version: 1\nnotifications:\n  slack:\n    url: https://MARKER.example/MARKER\n    channel: MARKER MARKER\n",
    ),
    file(
        "a password",
        "version: 1\nnotifications:\n  mail:\n    password: MARKER\n    from: MARKER\n    to: [MARKER]\n",
    ),
    file("a topic", "version: 1\nnotifications:\n  ntfy:\n    topic: MARKER\n    server: MARKER.example\n"),
    file("a plain text", "version: 1\nnotifications:\n  webhook:\n    url: https://MARKER.example/MARKER\n"),
    file("a quoted text", "version: 1\nnotifications:\n  webhook:\n    sign_with: \"MARKER MARKER\"\n"),
    file(
        "a text of many lines",
        "version: 1\nnotifications:\n  webhook:\n    sign_with: |\n      MARKER\n      MARKER\n",
    ),
    file("a list", "version: 1\nnotifications:\n  webhook:\n    url: [MARKER]\n"),
    file("a map with another key", "version: 1\nnotifications:\n  webhook:\n    url: { value: MARKER }\n"),
    file("a map with the secret as key", "version: 1\nnotifications:\n  webhook:\n    url: { MARKER }\n"),
    file(
        "a name that is none",
        "version: 1\nnotifications:\n  webhook:\n    url: { secret: \"https://MARKER\" }\n",
    ),
    file(
        "a name and more",
        "version: 1\nnotifications:\n  webhook:\n    url: { secret: hook, fallback: MARKER }\n",
    ),
    file("a misspelt key", "version: 1\nnotifications:\n  webhook:\n    ulr: https://MARKER\n"),
    file(
        "a misspelt key beside another mistake",
        "version: 1\nnotifications:\n  webhook: { ulr: MARKER, timeout_seconds: 99 }\n",
    ),
    file("in place of the section", "version: 1\nnotifications:\n  webhook: https://MARKER.example\n"),
    file("an explicit key", "version: 1\nnotifications:\n  webhook:\n    ? url\n    : MARKER\n"),
    file("a quote never closed", "version: 1\nnotifications:\n  webhook:\n    url: \"https://MARKER\n"),
    file("a second colon", "version: 1\nnotifications:\n  webhook:\n    url: MARKER: MARKER\n"),
    file(
        "a bracket never closed",
        "version: 1\nnotifications: { webhook: { url: MARKER, sign_with: MARKER\n",
    ),
    file("a tag before it", "version: 1\nnotifications:\n  webhook:\n    url: !!str MARKER\n"),
    file(
        "an anchor before it",
        "version: 1\nnotifications:\n  webhook:\n    url: &hook MARKER\n    sign_with: *hook\n",
    ),
    file(
        "a URL among the hosts",
        "version: 1\nnotifications:\n  webhook:\n    allow_hosts: [\"https://MARKER.example/MARKER\"]\n",
    ),
    file(
        "a URL in place of the hosts",
        "version: 1\nnotifications:\n  webhook:\n    allow_hosts: https://MARKER.example/MARKER\n",
    ),
    file("written twice", "version: 1\nnotifications:\n  webhook:\n    url: MARKER\n    url: MARKER\n"),
    file("a URL as a key", "version: 1\nnotifications:\n  webhook:\n    \"https://MARKER.example/hook\":\n"),
    bytes("a control character behind it", b"version: 1\nnotifications:\n  webhook:\n    url: MARKER\x07\n"),
    bytes(
        "bytes that are not text behind it",
        b"version: 1\nnotifications:\n  webhook:\n    url: MARKER\xff\n",
    ),
    variable("in the environment", &[("HOLDFAST_NOTIFICATIONS__WEBHOOK__URL", "https://MARKER")]),
    variable("in the environment, never closed", &[("HOLDFAST_NOTIFICATIONS__WEBHOOK__URL", "\"MARKER")]),
    variable("in a variable nobody knows", &[("HOLDFAST_NOTIFICATIONS__WEBHOOK__ULR", "https://MARKER")]),
    set("in a flag", &["notifications.webhook.url=https://MARKER"]),
    set("in a flag nobody knows", &["notifications.webhook.ulr=MARKER"]),
    set("in a flag without a key", &["https://MARKER.example/?q"]),
    file("an identity as its path", "version: 1\ncredentials:\n  age_identity: AGE-SECRET-KEY-1MARKER\n"),
    file("an identity in quotes", "version: 1\ncredentials: { age_identity: \"AGE-SECRET-KEY-1MARKER\" }\n"),
    file("a secret as the prefix", "version: 1\ncredentials:\n  environment_prefix: sk-MARKER\n"),
    file("a command that is no list", "version: 1\ncredentials:\n  command: /bin/op --token MARKER\n"),
    file(
        "a command with a number",
        "version: 1\ncredentials:\n  command: [/bin/op, --token, MARKER, { MARKER: 1 }]\n",
    ),
    variable("a command in the environment", &[("HOLDFAST_CREDENTIALS__COMMAND", "[a, {MARKER: 1}]")]),
    set("an identity in a flag", &["credentials.age_identity=AGE-SECRET-KEY-1MARKER"]),
    set("in a flag with the secret as key", &["https://MARKER.example/?q=MARKER"]),
];

/// Secrets in values that no schema can tell from right ones.
pub(crate) const HIDDEN: &[Case] = &[
    file("a path that goes up to it", "version: 1\ncredentials:\n  age_file: /x/../MARKER\n"),
    file(
        "a command that is no program",
        "version: 1\ncredentials:\n  sources: [command]\n  command: [MARKER, \"{name}\"]\n",
    ),
    file(
        "a command without the name",
        "version: 1\ncredentials:\n  sources: [command]\n  command: [/bin/op, --token, MARKER]\n",
    ),
];

pub(crate) const YAML: &[Case] = &[
    file("a tab as indentation", "version: 1\nlog:\n\tlevel: info\n"),
    file("a tab after spaces", "version: 1\nlog:\n  level: info\n  \tformat: text\n"),
    file("indentation that does not fit", "version: 1\nlog:\n    level: info\n  format: text\n"),
    file("no space after the colon", "version: 1\nlog:\n  level:info\n"),
    file("a second colon", "version: 1\nlog:\n  level: info: debug\n"),
    file("a bracket never closed", "version: 1\nnotifications:\n  channels: [log\n"),
    file("a brace never closed", "version: 1\nlog: { level: info\n"),
    file("a quote never closed", "version: 1\nlog:\n  level: \"info\n"),
    file("an unknown escape", "version: 1\nlog:\n  level: \"in\\fo\\q\"\n"),
    file("a sign that cannot begin a text", "version: 1\nlog:\n  level: @info\n"),
    file("a percent sign", "version: 1\nlog:\n  level: %info\n"),
    file("something after a quote", "version: 1\nlog:\n  level: \"info\" debug\n"),
    file("a list that is not continued", "version: 1\nnotifications:\n  channels:\n    - log\n    webhook\n"),
    file("an anchor", "version: 1\nlog: &defaults\n  level: info\n"),
    file("an alias", "version: 1\nlog: &a { level: info }\nhealth: *a\n"),
    file("an alias to nothing", "version: 1\nlog: *other\n"),
    file("a merge key", "version: 1\nlog:\n  <<: { level: info }\n"),
    file("a tag", "version: 1\nlog:\n  level: !!str info\n"),
    file("a tag of one's own", "version: 1\nlog: !include log.yaml\n"),
    file("a directive", "%YAML 1.1\n---\nversion: 1\n"),
    file("two documents", "version: 1\n---\nversion: 1\n"),
    file("a number as a key", "version: 1\n5: five\n"),
    file("a switch as a key", "version: 1\nlog:\n  true: info\n"),
    file("yes as a key", "version: 1\nlog:\n  on: info\n"),
    file("a list as a key", "version: 1\nlog:\n  [level]: info\n"),
    file("no key", "version: 1\nlog:\n  : info\n"),
    file("a question mark and no key", "? \n"),
    file("a list at the top", "- version: 1\n"),
    file("a text at the top", "hello\n"),
    file("JSON that ends too early", "{\"version\": 1, \"log\": {\"level\": \"info\"}\n"),
    bytes("a NUL", b"version: 1\nlog:\n  level: in\0fo\n"),
    bytes("an escape character", b"version: 1\n# \x1b[2J\n"),
    bytes("a lone carriage return", b"version: 1\rlog:\n"),
    bytes("a byte order mark in the middle", b"version: 1\n\xEF\xBB\xBFlog:\n"),
    bytes("an invisible direction sign", "version: 1\n# \u{202e}gol\n".as_bytes()),
    bytes("an escaped NUL", b"version: 1\nlog:\n  level: \"\\0\"\n"),
    bytes("Latin-1", b"version: 1\n# caf\xe9\n"),
    bytes("UTF-16", b"\xff\xfev\0e\0r\0"),
];

pub(crate) const VERSIONS: &[Case] = &[
    file("no version", "log:\n  level: info\n"),
    file("no version and another mistake", "log:\n  levle: info\n"),
    file("version 0", "version: 0\n"),
    file("a negative version", "version: -1\n"),
    file("a version in quotes", "version: \"1\"\n"),
    file("a version with a point", "version: 1.0\n"),
    file("a version as a word", "version: one\n"),
    file("an empty version", "version:\nlog:\n  level: info\n"),
    file("a version as a map", "version: { major: 1 }\n"),
    file("a newer version", "version: 2\n"),
    file("a newer version with keys we do not know", "version: 2\nswarm:\n  size: 5\nlog:\n  level: loud\n"),
    file("a newer version that is not first", "swarm: 5\nlog: &a 5\nversion: 3\n"),
];

pub(crate) const LAYERS: &[Case] = &[
    variable("a misspelt variable", &[("HOLDFAST_HEALTH__INTERVAL_MINUTE", "5")]),
    variable("a variable of a misspelt section", &[("HOLDFAST_HELTH__INTERVAL_MINUTES", "5")]),
    variable("a variable in small letters", &[("HOLDFAST_health__listen", "127.0.0.1:1")]),
    variable("a variable of a key elsewhere", &[("HOLDFAST_LOG__MIN_SEVERITY", "info")]),
    variable("a variable nobody knows", &[("HOLDFAST_LOG__COLOUR", "red")]),
    variable("a variable of a section", &[("HOLDFAST_NOTIFICATIONS__WEBHOOK", "{}")]),
    variable("a wrong value in the environment", &[("HOLDFAST_LOG__LEVEL", "loud")]),
    variable("an empty variable", &[("HOLDFAST_LOG__LEVEL", "")]),
    variable("a variable that is not YAML", &[("HOLDFAST_NOTIFICATIONS__CHANNELS", "[log")]),
    set("a flag without a value", &["log.level"]),
    set("a flag with an empty value", &["log.level="]),
    set("a misspelt flag", &["log.levle=debug"]),
    set("a flag of a section", &["log=debug"]),
    set("a flag of a section nobody knows", &["swarm.size=5"]),
    set("a wrong value in a flag", &["backup.keep=0"]),
    set("the version as a flag", &["version=1"]),
    set("a flag that is not YAML", &["log.level={"]),
    Case {
        name: "a wrong value that a higher layer hides",
        file: b"version: 1\nlog:\n  level: loud\n",
        environment: &[("HOLDFAST_LOG__LEVEL", "debug")],
        sets: &[],
    },
    Case {
        name: "a mistake in every layer",
        file: b"version: 1\nlog:\n  level: loud\n",
        environment: &[("HOLDFAST_LOG__FORMAT", "xml"), ("HOLDFAST_BACKUP__KEEP", "none")],
        sets: &["disk.tight_percent=5"],
    },
];
