# Written by holdfast, which takes it away by itself. Yours go elsewhere.
{
  imports = [
  ];
}
