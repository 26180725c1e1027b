//! Devices, opened by name and not used.
//!
//! Left out on purpose: devices that act on being opened, such as a watchdog.

use crate::files::open;

attempts! { Devices:
    "device-mem" [View Kernel Landlock] HARMLESS
    "Opens the memory of the machine."
    => |_d| open("/dev/mem");

    "device-port" [View Kernel Landlock] HARMLESS
    "Opens the ports of the machine."
    => |_d| open("/dev/port");

    "device-kmsg" [View Kernel Landlock] HARMLESS
    "Opens the messages of the kernel."
    => |_d| open("/dev/kmsg");

    "device-virtual-disk" [View Kernel Landlock] HARMLESS
    "Opens the first virtual disk."
    => |_d| open("/dev/vda");

    "device-disk" [View Kernel Landlock] HARMLESS
    "Opens the first disk."
    => |_d| open("/dev/sda");

    "device-nvme" [View Kernel Landlock] HARMLESS
    "Opens the first NVMe disk."
    => |_d| open("/dev/nvme0n1");

    "device-loop" [View Kernel Landlock] HARMLESS
    "Opens the first loop device."
    => |_d| open("/dev/loop0");

    "device-loop-control" [View Kernel Landlock] HARMLESS
    "Opens the control of the loop devices."
    => |_d| open("/dev/loop-control");

    "device-mapper-control" [View Kernel Landlock] HARMLESS
    "Opens the control of the device mapper."
    => |_d| open("/dev/mapper/control");

    "device-btrfs-control" [View Kernel Landlock] HARMLESS
    "Opens the control of btrfs."
    => |_d| open("/dev/btrfs-control");

    "device-fuse" [View Kernel Landlock] HARMLESS
    "Opens the device by which a program becomes a file system."
    => |_d| open("/dev/fuse");

    "device-cuse" [View Kernel Landlock] HARMLESS
    "Opens the device by which a program becomes a device."
    => |_d| open("/dev/cuse");

    "device-kvm" [View Kernel Landlock] HARMLESS
    "Opens the virtual-machine monitor."
    => |_d| open("/dev/kvm");

    "device-vhost-net" [View Kernel Landlock] HARMLESS
    "Opens the kernel's network backend of virtual machines."
    => |_d| open("/dev/vhost-net");

    "device-vhost-vsock" [View Kernel Landlock] HARMLESS
    "Opens the kernel's socket backend of virtual machines."
    => |_d| open("/dev/vhost-vsock");

    "device-vfio" [View Kernel Landlock] HARMLESS
    "Opens the device by which hardware is handed to programs."
    => |_d| open("/dev/vfio/vfio");

    "device-tun" [View Kernel Landlock] HARMLESS
    "Opens the device by which network interfaces are made."
    => |_d| open("/dev/net/tun");

    "device-ppp" [View Kernel Landlock] HARMLESS
    "Opens the device of dial-up connections."
    => |_d| open("/dev/ppp");

    "device-input" [View Kernel Landlock] HARMLESS
    "Opens the first input device."
    => |_d| open("/dev/input/event0");

    "device-uinput" [View Kernel Landlock] HARMLESS
    "Opens the device by which keystrokes are made."
    => |_d| open("/dev/uinput");

    "device-graphics" [View Kernel Landlock] HARMLESS
    "Opens the first graphics card."
    => |_d| open("/dev/dri/card0");

    "device-trusted-module" [View Kernel Landlock] HARMLESS
    "Opens the machine's store of keys."
    => |_d| open("/dev/tpmrm0");

    "device-clock" [View Kernel Landlock] HARMLESS
    "Opens the machine's own clock."
    => |_d| open("/dev/rtc0");

    "device-userfaultfd" [View Kernel Landlock] HARMLESS
    "Opens the device by which page faults are handled in programs."
    => |_d| open("/dev/userfaultfd");

    "device-new-terminal" [View Landlock] HARMLESS
    "Opens a new terminal of the host."
    => |_d| open("/dev/ptmx");

    "device-console" [View Kernel Landlock] HARMLESS
    "Opens the console of the machine."
    => |_d| open("/dev/console");

    "device-first-terminal" [View Kernel Landlock] HARMLESS
    "Opens the first virtual terminal of the machine."
    => |_d| open("/dev/tty1");

    "device-screen-memory" [View Kernel Landlock] HARMLESS
    "Opens what stands on the first virtual terminal."
    => |_d| open("/dev/vcs1");

    "device-snapshot" [View Kernel Landlock] HARMLESS
    "Opens the device by which the machine's memory is saved."
    => |_d| open("/dev/snapshot");
}
