//! The one definition of the command line. Help, `docs/cli.md` and completions come from it.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    approvals, backup, bundle, cage, config, demo, disk, down, egress, export, gateway, hook, memory, model,
    notice, pause, rebuild, redact, scan, status, steward, target, uninstall, verdict,
};
use crate::enrolment::warrant;
use crate::{audit, daemon, docs, doctor, init};

/// Options of every command stand apart from its own.
const EVERYWHERE: &str = "Every command";

/// Keeps autonomous agents on machines you own: fenced in, remembered, recoverable
#[derive(Debug, Parser)]
#[command(name = "holdfast", version, arg_required_else_help = true, disable_help_subcommand = false)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    /// Directory with etc/, state/ and run/ [env: HOLDFAST_HOME] [default: ~/.local/state/holdfast]
    ///
    /// Without it and without the variable: /etc/holdfast, /var/lib/holdfast and /run/holdfast for root where
    /// /etc/holdfast exists, else ~/.local/state/holdfast.
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub(crate) home: Option<PathBuf>,

    /// Answer in JSON; the fields stay as they are
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::DemoArgs),
    Init(init::InitArgs),
    Up(daemon::UpArgs),
    Down(down::DownArgs),
    Status(status::StatusArgs),
    Doctor(doctor::DoctorArgs),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    Approvals(approvals::ApprovalsArgs),
    Approve(verdict::ApproveArgs),
    Reject(verdict::RejectArgs),
    Steward(steward::StewardArgs),
    Target(target::TargetArgs),
    Memory(Box<memory::MemoryArgs>),
    Model(model::ModelArgs),
    Config(config::ConfigArgs),
    Egress(egress::EgressArgs),
    Notice(notice::NoticeArgs),
    Gateway(gateway::GatewayArgs),
    Disk(disk::DiskArgs),
    Rebuild(rebuild::RebuildArgs),
    Backup(backup::BackupArgs),
    Export(export::ExportArgs),
    SupportBundle(bundle::BundleArgs),
    Scan(Box<scan::ScanArgs>),
    Hook(hook::HookArgs),
    Redact(redact::RedactArgs),
    Cage(Box<cage::CageArgs>),
    Audit(Box<audit::AuditArgs>),
    Uninstall(uninstall::UninstallArgs),
    /// Print completions for a shell
    ///
    /// For bash: holdfast completions bash > ~/.local/share/bash-completion/completions/holdfast
    #[command(after_long_help = "JSON fields: shell, script.")]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    Man(docs::ManArgs),
    #[command(hide = true)]
    Docs(docs::DocsArgs),
    /// Said by `holdfast target` to itself, while it works as another user
    #[command(hide = true)]
    Warrant(warrant::Warrant),
}
