# The repository of a host's people, with a stub in the place of nixpkgs.
{
  outputs = { self }: {
    nixosConfigurations."target-1" = rec {
      config = (import ./lib.nix).evalModules [ ./options.nix ./hosts/target-1/configuration.nix ];
      # What `nix flake check` looks for.
      options = { };
    };
  };
}
