//! Walls that are easily left with a gap: grants within grants, links above them, what is handed in, memory nobody counts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use holdfast_cage::amount::Bytes;
use holdfast_cage::wire::End;
use holdfast_cage::{Access, Files, Input, Sinks};
use support::{Kept, Trial, folder, launcher, own};

fn grant(trial: &mut Trial, path: &str, access: Access) {
    let grant = Files::by_hand(path.to_owned(), access, false, false, "the test's");
    trial.policy.grant(grant).unwrap();
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    own(path.parent().unwrap());
    own(path);
}

#[test]
fn what_is_protected_in_a_writable_folder_cannot_be_moved_out_of_its_place() {
    let work = folder();
    put(&work.path().join(".git/hooks/pre-commit"), "good\n");
    put(&work.path().join("conf/deep/secret/key"), "hidden\n");
    for folder in [".git", "conf", "conf/deep"] {
        own(&work.path().join(folder));
    }
    let mut trial = Trial::of("work", work.path());
    grant(&mut trial, "{work}/.git/hooks", Access::Read);
    grant(&mut trial, "{work}/conf/deep/secret", Access::Hidden);
    let done = trial.sh(
        "for d in .git .git/hooks conf conf/deep conf/deep/secret; do mv $d moved 2>/dev/null && echo moved $d; rm -rf $d 2>/dev/null; done; \
         echo evil > .git/hooks/pre-commit 2>/dev/null && echo wrote; cat conf/deep/secret/key 2>/dev/null; \
         echo free > .git/description && echo free > conf/deep/other && echo rest",
    );
    assert_eq!(done.out, "rest\n", "{done:?}");
    assert_eq!(fs::read_to_string(work.path().join(".git/hooks/pre-commit")).unwrap(), "good\n");
    assert_eq!(fs::read_to_string(work.path().join("conf/deep/secret/key")).unwrap(), "hidden\n");
    // One that is gone may have been moved away before: then nothing is run.
    fs::remove_dir_all(work.path().join("conf/deep/secret")).unwrap();
    let call = holdfast_cage::Call {
        argv: vec!["true".to_owned()],
        work: trial.work.clone(),
        identity: support::identity(),
        environment: vec![],
    };
    let refused = holdfast_cage::Plan::of(&trial.policy, &call, support::host(), &holdfast_cage::Machine);
    assert!(matches!(refused, Err(holdfast_cage::Refusal::Missing { .. })), "{refused:?}");
}

#[test]
fn a_grant_in_a_grant_opens_nothing_of_what_is_around_it() {
    let work = folder();
    put(&work.path().join("kept/a/secret/key"), "hidden\n");
    put(&work.path().join("kept/file"), "kept\n");
    put(&work.path().join("data/a/secret/key"), "hidden\n");
    put(&work.path().join("scratch/a/b/file"), "of the machine\n");
    for folder in ["kept", "kept/a", "data", "data/a", "scratch", "scratch/a"] {
        own(&work.path().join(folder));
    }
    let mut trial = Trial::of("work", work.path());
    // Something hidden in what may only be read, in what may be written.
    grant(&mut trial, "{work}/kept", Access::Read);
    grant(&mut trial, "{work}/kept/a/secret", Access::Hidden);
    // Something hidden in what may be written and not run.
    grant(&mut trial, "{work}/data", Access::Write);
    grant(&mut trial, "{work}/data/a/secret", Access::Hidden);
    // Something to be read in an empty folder, whose place on the machine is not empty.
    grant(&mut trial, "{work}/scratch", Access::Temporary);
    grant(&mut trial, "{work}/scratch/a/b", Access::Read);
    let done = trial.sh(
        "echo evil > kept/file; echo evil > kept/a/new; mv kept/a kept/b; \
         cp /bin/true data/true; cp /bin/true data/a/true; data/true && echo ran; data/a/true && echo ran beside; \
         echo evil > scratch/a/new; cat scratch/a/b/file; cat kept/a/secret/key data/a/secret/key; echo end",
    );
    assert_eq!(done.out, "of the machine\nend\n", "{done:?}");
    assert_eq!(fs::read_to_string(work.path().join("kept/file")).unwrap(), "kept\n");
    assert!(!work.path().join("kept/a/new").exists() && !work.path().join("scratch/a/new").exists());
}

#[test]
fn a_link_in_what_is_granted_can_be_named_too() {
    let work = folder();
    put(&work.path().join("real"), "seen\n");
    symlink("real", work.path().join("link")).unwrap();
    let mut trial = Trial::of("work", work.path());
    grant(&mut trial, "{work}/link", Access::Read);
    assert_eq!(trial.sh("cat link").out, "seen\n");
}

#[test]
fn a_link_above_what_is_granted_leads_nowhere() {
    let (work, private) = (folder(), folder());
    put(&private.path().join("secret"), "private\n");
    symlink(private.path(), work.path().join("link")).unwrap();
    let mut trial = Trial::of("work", work.path());
    grant(&mut trial, "{work}/link/secret", Access::Read);
    let told = trial.try_run(&["true"]).unwrap_err().to_string();
    assert!(told.contains("taking hold of"), "{told}");
}

#[test]
fn the_program_gets_a_pipe_and_never_the_callers_own_file_folder_or_terminal() {
    let work = folder();
    let trial = Trial::of("work", work.path());
    put(&work.path().join("input"), "from a file\n");
    let start = |input: File| {
        let (out, err) = (Kept::default(), Kept::default());
        let sinks = Sinks { output: Box::new(out.clone()), errors: Box::new(err.clone()) };
        let plan = trial.plan(&["sh", "-c", "readlink /proc/self/fd/0 | cut -c1-5; cat"]);
        let running = launcher().start(&plan, &trial.policy, Input::From(input.into()), sinks)?;
        running.wait().map(|_| out.text())
    };
    assert_eq!(start(File::open(work.path().join("input")).unwrap()).unwrap(), "pipe:\nfrom a file\n");
    let told = start(File::open(work.path()).unwrap()).unwrap_err().to_string();
    assert!(told.contains("cannot be given this input"), "{told}");
}

#[test]
fn memory_is_counted_wherever_it_is_put() {
    let work = folder();
    let trial = || {
        Trial::of("work", work.path()).limited(|limits| {
            limits.memory = Some(Bytes(64 << 20));
            limits.time = Some(Duration::from_secs(20));
        })
    };
    let shared = "import mmap, time\nm = mmap.mmap(-1, 200 << 20)\nfor i in range(0, 200 << 20, 4096): m[i] = 1\ntime.sleep(60)";
    let folders = "head -c 50M /dev/zero > /tmp/a; head -c 50M /dev/zero > /dev/shm/b; sleep 60";
    for argv in [&["python3", "-c", shared][..], &["sh", "-c", folders]] {
        let done = trial().run(argv);
        assert_eq!(done.evidence.ended.end, End::OutOfMemory, "{done:?}");
    }
}

#[test]
fn output_that_was_given_to_somebody_else_is_not_waited_for() {
    let work = folder();
    let path = work.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let (let_go, until_then) = std::sync::mpsc::channel::<()>();
    let keeper = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = rustix::net::RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut into = [std::io::IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(&stream, &mut into, &mut beside, rustix::net::RecvFlags::CMSG_CLOEXEC).unwrap();
        let kept: Vec<_> = beside.drain().collect();
        // Until the run is over, or for so long that it cannot have been waited for.
        let _ = until_then.recv_timeout(Duration::from_secs(20));
        drop(kept);
    });
    let hand = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('s'); socket.send_fds(s, [b'x'], [1, 2]); print('handed', flush=True)";
    let began = Instant::now();
    let done = Trial::of("work", work.path()).run(&["python3", "-c", hand]);
    assert_eq!(done.out, "handed\n", "{done:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    drop(let_go);
    keeper.join().unwrap();
}

#[test]
fn no_file_is_left_that_lends_its_owners_rights() {
    let work = folder();
    // The standard library follows a link to its file only with a folder to begin from.
    let done = Trial::of("work", work.path()).sh(
        "cp /bin/true a; chmod 755 a && echo plain; chmod 4755 a 2>/dev/null && echo setuid; chmod g+s a 2>/dev/null && echo setgid; \
         python3 -c 'import os; os.open(\"b\", os.O_CREAT | os.O_WRONLY, 0o4755)' 2>/dev/null && echo made; \
         python3 -c 'import os; f = os.open(\".\", os.O_TMPFILE | os.O_RDWR, 0o4755); \
         os.link(f\"/proc/self/fd/{f}\", \"c\", src_dir_fd=os.open(\".\", os.O_RDONLY))' 2>/dev/null && echo named later; true",
    );
    assert_eq!(done.out, "plain\n", "{done:?}");
}

#[test]
fn nothing_is_made_on_the_machine_to_mount_on() {
    let work = folder();
    let mut trial = Trial::of("work", work.path());
    grant(&mut trial, "{work}/cache", Access::Temporary);
    let told = trial.try_run(&["true"]).unwrap_err().to_string();
    assert!(told.contains("nothing is made in what is granted"), "{told}");
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
}
