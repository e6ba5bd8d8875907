"""`samp completion`: the script with which a shell completes samp's commands and options."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what switches on completion of commands, options and methods in SHELL.

    \b
    Examples, each once:
      samp completion bash >> ~/.bashrc
      samp completion zsh >> ~/.zshrc
      samp completion fish > ~/.config/fish/completions/samp.fish
    """
    from click.shell_completion import get_completion_class

    from samp.cli import main

    kind = get_completion_class(shell)
    if kind is None:  # pragma: no cover  # click has all three
        raise ValueError(f"click {click.__version__} has no completion for {shell}.")
    complete = kind(main, {}, "samp", "_SAMP_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
