# The host as its people wrote it. The one line of ours in it is the import.
{ lib, ... }:
{
  imports = [ ./holdfast ];
  networking.hostName = "target-1";
  networking.firewall.allowedTCPPorts = [ 22 8080 ];
  services.openssh.enable = true;
  services.tailscale.enable = true;
  swapDevices = [ { device = "/swapfile"; size = 2048; } ];
  nix.settings.max-jobs = 2;
  systemd.services.sshd.serviceConfig.ExecStart = "sshd -D";
  systemd.services.nix-daemon.serviceConfig.ExecStart = "nix-daemon";
  systemd.services.web = {
    description = "the managed workload";
    serviceConfig = {
      ExecStart = "web --port 8080";
      MemoryMax = "1G";
      MemoryHigh = lib.mkDefault "896M";
      CPUQuota = lib.mkForce "100%";
      Nice = 0;
    };
  };
  systemd.slices.batch.sliceConfig.MemoryMax = "2G";
  # As strong as we are: two that say different things cannot both be right.
  systemd.slices.clash.sliceConfig.MemoryMax = lib.mkOverride 60 "2G";
}
