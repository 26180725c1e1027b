# The part of the option tree of NixOS that is tuned, judged or needed for a system to be built, as a stub.
{ lib, config, ... }:
let
  inherit (lib) mkOption types;
  inherit (builtins) attrNames concatMap concatStringsSep listToAttrs;
  option = type: default: mkOption { inherit type default; };
  units = kind: types.attrsOf (types.submodule {
    enable = option types.bool true;
    description = option types.str "";
    ${kind} = option (types.attrsOf types.unitOption) { };
  });
  said = value: if builtins.isBool value then (if value then "true" else "false") else toString value;
  text = section: unit: settings: concatStringsSep "\n"
    ([ "[Unit]" "Description=${unit.description}" "[${section}]" ] ++ map (name: "${name}=${said settings.${name}}") (attrNames settings)) + "\n";
  made = suffix: section: kind: all: map
    (name: { name = "${name}.${suffix}"; value = { inherit (all.${name}) enable; text = text section all.${name} all.${name}.${kind}; }; })
    (attrNames all);
in
{
  options = {
    systemd.services = option (units "serviceConfig") { };
    systemd.sockets = option (units "socketConfig") { };
    systemd.slices = option (units "sliceConfig") { };
    systemd.units = option (types.attrsOf (types.submodule { enable = option types.bool true; text = option types.str ""; })) { };
    services.openssh.enable = option types.bool false;
    services.tailscale.enable = option types.bool false;
    networking.hostName = option types.str "nixos";
    networking.firewall.enable = option types.bool true;
    networking.firewall.allowedTCPPorts = option (types.listOf types.int) [ ];
    nix.settings.max-jobs = option types.intOrAuto "auto";
    nix.settings.cores = option types.int 0;
    swapDevices = option (types.listOf types.anything) [ ];
    environment.etc = option (types.attrsOf types.anything) { };
    users.users = option (types.attrsOf types.anything) { };
    system.build = option (types.attrsOf types.anything) { };
  };

  config.systemd.units = listToAttrs (
    made "service" "Service" "serviceConfig" config.systemd.services
    ++ made "socket" "Socket" "socketConfig" config.systemd.sockets
    ++ made "slice" "Slice" "sliceConfig" config.systemd.slices);

  # A built system: a folder with what it comes to and a program that would activate it. Nothing of it depends on where the source lies.
  config.system.build.toplevel = derivation {
    name = "nixos-system-${config.networking.hostName}";
    system = "x86_64-linux";
    builder = "/bin/sh";
    configuration = builtins.toJSON { inherit (config.systemd) units; inherit (config) nix services networking swapDevices; };
    args = [ "-c" ''
      /bin/mkdir -p "$out/bin" && printf '%s' "$configuration" >"$out/configuration.json"
      case "$configuration" in *MemoryMax=666666666*) echo "a builder of people's fails" >&2; exit 1;; esac
      printf '%s\n' '#!/bin/sh' 'echo "this is a stub: nothing is activated" >&2' 'exit 1' >"$out/bin/switch-to-configuration"
      /bin/chmod 755 "$out/bin/switch-to-configuration"
    '' ];
  };
}
