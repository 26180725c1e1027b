//! The system calls that [`crate::raw::make_call`] may make.
//!
//! What is listed here touches memory only through its own pointer arguments, maps none, and returns once. A call
//! for which that is not so belongs into a function of its own in `raw`.

/// A system call of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call(libc::c_long);

impl Call {
    pub(crate) const fn number(self) -> libc::c_long {
        self.0
    }
}

macro_rules! calls {
    ($($name:ident = $number:ident,)+) => {
        impl Call {
            $(pub(crate) const $name: Call = Call(libc::$number);)+
        }
    };
}

calls! {
    // Files.
    TRUNCATE = SYS_truncate,
    FCHMOD = SYS_fchmod,
    FCHMODAT = SYS_fchmodat,
    FCHOWNAT = SYS_fchownat,
    UTIMENSAT = SYS_utimensat,
    MKNODAT = SYS_mknodat,
    OPENAT = SYS_openat,
    OPENAT2 = SYS_openat2,
    SETXATTR = SYS_setxattr,
    INOTIFY_INIT1 = SYS_inotify_init1,
    INOTIFY_ADD_WATCH = SYS_inotify_add_watch,
    NAME_TO_HANDLE_AT = SYS_name_to_handle_at,
    OPEN_BY_HANDLE_AT = SYS_open_by_handle_at,
    FANOTIFY_INIT = SYS_fanotify_init,
    PREAD = SYS_pread64,
    FCNTL = SYS_fcntl,
    // Mounts.
    MOUNT = SYS_mount,
    UMOUNT2 = SYS_umount2,
    OPEN_TREE = SYS_open_tree,
    MOVE_MOUNT = SYS_move_mount,
    FSOPEN = SYS_fsopen,
    FSCONFIG = SYS_fsconfig,
    FSMOUNT = SYS_fsmount,
    FSPICK = SYS_fspick,
    MOUNT_SETATTR = SYS_mount_setattr,
    PIVOT_ROOT = SYS_pivot_root,
    CHROOT = SYS_chroot,
    SWAPON = SYS_swapon,
    SWAPOFF = SYS_swapoff,
    // Processes.
    KILL = SYS_kill,
    TKILL = SYS_tkill,
    TGKILL = SYS_tgkill,
    RT_SIGQUEUEINFO = SYS_rt_sigqueueinfo,
    RT_TGSIGQUEUEINFO = SYS_rt_tgsigqueueinfo,
    PIDFD_OPEN = SYS_pidfd_open,
    PIDFD_GETFD = SYS_pidfd_getfd,
    PIDFD_SEND_SIGNAL = SYS_pidfd_send_signal,
    PTRACE = SYS_ptrace,
    KCMP = SYS_kcmp,
    MOVE_PAGES = SYS_move_pages,
    MIGRATE_PAGES = SYS_migrate_pages,
    PROCESS_MADVISE = SYS_process_madvise,
    PROCESS_MRELEASE = SYS_process_mrelease,
    GET_ROBUST_LIST = SYS_get_robust_list,
    SCHED_GETAFFINITY = SYS_sched_getaffinity,
    SCHED_SETSCHEDULER = SYS_sched_setscheduler,
    SCHED_SETATTR = SYS_sched_setattr,
    GETPRIORITY = SYS_getpriority,
    SETPRIORITY = SYS_setpriority,
    IOPRIO_SET = SYS_ioprio_set,
    IOPRIO_GET = SYS_ioprio_get,
    GETPGID = SYS_getpgid,
    GETSID = SYS_getsid,
    PRLIMIT64 = SYS_prlimit64,
    PRCTL = SYS_prctl,
    // Namespaces and privileges.
    UNSHARE = SYS_unshare,
    SETNS = SYS_setns,
    SETRESUID = SYS_setresuid,
    SETRESGID = SYS_setresgid,
    SETUID = SYS_setuid,
    SETGID = SYS_setgid,
    SETFSUID = SYS_setfsuid,
    SETGROUPS = SYS_setgroups,
    CAPGET = SYS_capget,
    CAPSET = SYS_capset,
    // Keyrings.
    ADD_KEY = SYS_add_key,
    REQUEST_KEY = SYS_request_key,
    KEYCTL = SYS_keyctl,
    // Interfaces of the kernel.
    IO_URING_SETUP = SYS_io_uring_setup,
    IO_URING_ENTER = SYS_io_uring_enter,
    IO_URING_REGISTER = SYS_io_uring_register,
    BPF = SYS_bpf,
    PERF_EVENT_OPEN = SYS_perf_event_open,
    USERFAULTFD = SYS_userfaultfd,
    KEXEC_LOAD = SYS_kexec_load,
    KEXEC_FILE_LOAD = SYS_kexec_file_load,
    INIT_MODULE = SYS_init_module,
    FINIT_MODULE = SYS_finit_module,
    DELETE_MODULE = SYS_delete_module,
    REBOOT = SYS_reboot,
    SETHOSTNAME = SYS_sethostname,
    SETDOMAINNAME = SYS_setdomainname,
    SYSLOG = SYS_syslog,
    ACCT = SYS_acct,
    QUOTACTL = SYS_quotactl,
    VHANGUP = SYS_vhangup,
    LOOKUP_DCOOKIE = SYS_lookup_dcookie,
    MEMFD_SECRET = SYS_memfd_secret,
    PERSONALITY = SYS_personality,
    IOCTL = SYS_ioctl,
    LANDLOCK_CREATE_RULESET = SYS_landlock_create_ruleset,
    LANDLOCK_ADD_RULE = SYS_landlock_add_rule,
    LANDLOCK_RESTRICT_SELF = SYS_landlock_restrict_self,
    // Time.
    CLOCK_SETTIME = SYS_clock_settime,
    SETTIMEOFDAY = SYS_settimeofday,
    ADJTIMEX = SYS_adjtimex,
    CLOCK_ADJTIME = SYS_clock_adjtime,
    TIMERFD_CREATE = SYS_timerfd_create,
    // Shared memory.
    SHMGET = SYS_shmget,
    SEMGET = SYS_semget,
    MSGGET = SYS_msgget,
    MQ_OPEN = SYS_mq_open,
    // Network.
    SOCKET = SYS_socket,
    BIND = SYS_bind,
    SENDTO = SYS_sendto,
    RECVFROM = SYS_recvfrom,
    SETSOCKOPT = SYS_setsockopt,
    GETSOCKOPT = SYS_getsockopt,
}

/// Calls that only one kind of processor has. Elsewhere they get a number that no kernel knows.
impl Call {
    pub(crate) const IOPL: Call = Call(on_x86(172));
    pub(crate) const IOPERM: Call = Call(on_x86(173));
    pub(crate) const MODIFY_LDT: Call = Call(on_x86(154));
    /// `getpid` in the table of calls with 32-bit pointers on a 64-bit machine.
    pub(crate) const X32_GETPID: Call = Call(on_x86(0x4000_0000 + 39));
}

const fn on_x86(number: libc::c_long) -> libc::c_long {
    const NO_SUCH_CALL: libc::c_long = 0x3fff_ffff;
    if cfg!(target_arch = "x86_64") { number } else { NO_SUCH_CALL }
}
