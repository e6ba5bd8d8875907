"""Pages that were written to disk, in a second browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from firefox import launch_firefox
from samp.html import player
from small_player import explain_tiny, tiny


@pytest.mark.browser
def test_the_player_plays_in_firefox(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    page = player.save(player.page(explain_tiny(), tiny(), name="photo.jpg"), tmp_path / "play.html")
    with launch_firefox(profile) as firefox:
        firefox.open(page.as_uri())
        firefox.wait_for("document.querySelectorAll('#top li').length === 5")
        position = "document.querySelector('#position').value"
        start = firefox.run(f"return {position}")
        drawn = "[...document.querySelector('#point').getContext('2d').getImageData(0, 0, 8, 8).data]"
        assert len(set(firefox.run(f"return {drawn}"))) > 5
        firefox.click("#play")
        firefox.wait_for(f"{position} !== '{start}'")
        assert firefox.run("return document.querySelector('#trouble').hidden")
