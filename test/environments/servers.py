"""Servers for the suite of environments: `servers.py guess|shop PORT ROOM` with OpenEnv, `servers.py mcp-stdio`, `servers.py mcp-http PORT`."""
import os
import sys
import time
from typing import Any, Optional

kind = sys.argv[1]


def tools():
    from fastmcp import FastMCP

    server = FastMCP("shop")

    @server.tool()
    def price(item: str) -> int:
        """The price of an item."""
        prices = {"apple": 2, "pear": 3}
        if item not in prices:
            raise ValueError(f"no {item} here")
        return prices[item]

    @server.tool()
    def slow(seconds: float) -> str:
        """Waits."""
        time.sleep(seconds)
        return "late"

    return server


def openenv(port: int, room: int) -> None:
    import uvicorn
    from openenv.core.env_server.http_server import create_fastapi_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.mcp_environment import MCPEnvironment
    from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
    from openenv.core.env_server.types import Action, Observation, State

    class GuessAction(Action):
        message: str

    class GuessObservation(Observation):
        prompt: str = ""

    class Guess(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__()
            self._state = State(episode_id="", step_count=0)
            self.hidden = 0

        def reset(self, seed: Optional[int] = None, episode_id: Optional[str] = None, **kwargs: Any):
            self.hidden = (seed or 0) % 10
            self._state = State(episode_id=episode_id or "", step_count=0)
            return GuessObservation(prompt="Guess from 0 to 9.", done=False, reward=None)

        def step(self, action: GuessAction, timeout_s: Optional[float] = None, **kwargs: Any):
            self._state.step_count += 1
            if action.message == "crash":
                raise RuntimeError("the world ended")
            if action.message == "exit":
                os._exit(3)
            if action.message == "sleep":
                time.sleep(3)
            guess = int(action.message) if action.message.isdigit() else -1
            right = guess == self.hidden
            prompt = "Right." if right else ("Higher." if guess < self.hidden else "Lower.")
            return GuessObservation(prompt=prompt, done=right, reward=1.0 if right else -0.1)

        @property
        def state(self):
            return self._state

    class Shop(MCPEnvironment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__(tools())
            self._state = State(episode_id="", step_count=0)

        def reset(self, seed: Optional[int] = None, episode_id: Optional[str] = None, **kwargs: Any):
            return Observation(done=False, reward=None)

        def _step_impl(self, action, timeout_s: Optional[float] = None, **kwargs: Any):
            return Observation(done=False, reward=0.0)

        @property
        def state(self):
            return self._state

    if kind == "guess":
        app = create_fastapi_app(Guess, GuessAction, GuessObservation, max_concurrent_envs=room)
    else:
        app = create_fastapi_app(Shop, CallToolAction, CallToolObservation, max_concurrent_envs=room)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if kind == "mcp-stdio":
    tools().run(transport="stdio", show_banner=False)
elif kind == "mcp-http":
    tools().run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
else:
    openenv(int(sys.argv[2]), int(sys.argv[3]))
