# What the gates look at, of an evaluated NixOS configuration. `nix eval --apply` hands it the `config`.
config:
let
  inherit (builtins) any attrNames concatMap filter hashString isInt isString listToAttrs match split stringLength substring toJSON;

  tuned = [ "MemoryMax" "MemoryHigh" "CPUQuota" "Nice" ];

  startsWith = prefix: text: substring 0 (stringLength prefix) text == prefix;

  # Numbers and strings mean the same in a unit. What is neither is no value of these.
  said = value: if isInt value then toString value else if isString value then value else null;

  # Everything in a unit but what is tuned: a change of anything else is seen, and of what is tuned is told by its value.
  definition = text:
    let lines = filter isString (split "\n" text);
    in hashString "sha256" (toJSON (filter (line: ! any (name: startsWith "${name}=" line) tuned) lines));

  settingsOf = name:
    let
      parts = match "(.*)\\.(service|socket|slice)" name;
      from = {
        service = (config.systemd.services.${builtins.head parts} or { }).serviceConfig or { };
        socket = (config.systemd.sockets.${builtins.head parts} or { }).socketConfig or { };
        slice = (config.systemd.slices.${builtins.head parts} or { }).sliceConfig or { };
      }.${builtins.elemAt parts 1};
      value = property: { name = property; value = said from.${property}; };
    in if parts == null then { } else listToAttrs (map value (filter (property: from ? ${property}) tuned));

  # These belong to the whole host; they are carried with the daemon that they are about.
  nixOf = name:
    if name != "nix-daemon.service" then { } else listToAttrs (concatMap
      (option:
        if (config.nix.settings or { }) ? ${option}
        then [ { name = "nix.settings.${option}"; value = said config.nix.settings.${option}; } ]
        else [ ])
      [ "max-jobs" "cores" ]);

  unit = name: {
    inherit name;
    value = {
      enabled = config.systemd.units.${name}.enable or true;
      definition = definition (config.systemd.units.${name}.text or "");
      settings = settingsOf name // nixOf name;
    };
  };
in
{
  ssh_enabled = config.services.openssh.enable or false;
  vpn_enabled = config.services.tailscale.enable or null;
  firewall_enabled = (config.networking.firewall.enable or false) || (config.networking.nftables.enable or false);
  swap = (config.swapDevices or [ ]) != [ ] || (config.zramSwap.enable or false);
  units = listToAttrs (map unit (attrNames config.systemd.units));
  rest = hashString "sha256" (toJSON {
    hostName = config.networking.hostName or null;
    etc = attrNames (config.environment.etc or { });
    users = attrNames (config.users.users or { });
    ports = config.networking.firewall.allowedTCPPorts or [ ];
  });
}
