"""`samp app`: a local web app that explains photos while one watches (extra `app`: starlette, uvicorn).

One thread explains, one job after the other (`queue`); the event loop only passes on what was made (`server`). Photos,
results and history are kept in memory alone.
"""
