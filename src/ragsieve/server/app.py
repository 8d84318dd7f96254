"""The application: routes, middleware, start and end."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import version

from ragsieve.errors import InputError, RagsieveError, needs_extra
from ragsieve.inspector.page import page, policy
from ragsieve.server.settings import Settings
from ragsieve.system import System
from ragsieve.timeouts import start

with needs_extra("serve"):
    import httpx
    from fastapi import APIRouter, FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse, Response

    from ragsieve.server import shapes
    from ragsieve.server.chat import chats
    from ragsieve.server.faults import Fault, answer_error, json_response
    from ragsieve.server.guard import Guard
    from ragsieve.server.rerank import reranks
    from ragsieve.server.routes import REFUSALS, api
    from ragsieve.server.service import Service

_CONNECT_S = 10.0
_POOL = httpx.Limits(max_connections=None, max_keepalive_connections=100)  # Guard limits requests
_RAISED = (HTTPException, RequestValidationError, RagsieveError, Exception)


def create_app(systems: Mapping[str, System], *, settings: Settings | None = None) -> FastAPI:
    """An ASGI application that filters, answers, reranks and forwards chats.

    Args:
        systems: Systems by name, the default first; used from several threads at once, so that
            their models are best wrapped by `ragsieve.models.sharing`, with as many callers as
            ``settings.limits.workers``.
        settings: What is allowed, and where chats go; the defaults where None.

    Raises:
        InputError: If there is no system.
    """
    if not systems:
        raise InputError(f"systems must name at least one system, got {systems!r}")
    settings = settings or Settings()
    service = Service(systems, settings)
    app = FastAPI(
        title="ragsieve",
        summary="Sieves the noise out of retrieved documents before a language model reads them.",
        version=version("ragsieve"),
        lifespan=_lifespan,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        exception_handlers=dict.fromkeys(_RAISED, answer_error),
    )
    app.state.service = service
    paths = ["/openapi.json"]
    for part in (api, reranks, chats, _status):
        router = part(service)
        app.include_router(router)
        paths += [getattr(route, "path", "") for route in router.routes]
    app.add_middleware(Guard, settings=settings, metrics=service.metrics, paths=paths)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.work.open()
    upstream = service.settings.upstream
    silent = httpx.Timeout(upstream.timeout_s if upstream else None, connect=_CONNECT_S)
    jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))  # it keeps none: they are one client's
    async with httpx.AsyncClient(cookies=jar, timeout=silent, limits=_POOL) as app.state.client:
        if service.settings.warm:
            start(service.warm_up)
        yield
    service.work.close()


def _status(service: Service) -> APIRouter:
    """The routes that tell how the server is, and the page."""
    router = APIRouter(responses={503: REFUSALS[503]})

    @router.get("/health", responses=shapes.replies("/health"))
    async def health() -> Response:
        """The server runs."""
        return json_response({"status": "ok"})

    @router.get("/ready", responses=shapes.replies("/ready"))
    async def ready() -> Response:
        """The models are loaded; 503 until they are."""
        if service.unready:
            raise Fault(503, "not_ready", service.unready, retry_s=5)
        return json_response({"status": "ready"})

    @router.get("/metrics")
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(service.metrics.text, media_type="text/plain; version=0.0.4")

    @router.get("/stats", responses=shapes.replies("/stats"))
    async def stats(price: shapes.Price = None) -> Response:
        """Tokens before and after by day, route and tool, the latest day first, and in all.

        Documents are those of an empty ``tool``. A result that is sent again at a later turn counts
        again, as it would have been sent again whole. With a price ``saved`` says what was saved.
        """
        if (savings := service.savings) is None:
            raise Fault(404, "no_savings", "no savings are kept: start with --savings FILE")
        return await service.respond(lambda: savings.stats(price))

    @router.get("/", include_in_schema=False)
    async def inspector() -> Response:
        """The inspector's page."""
        headers = {
            "Content-Security-Policy": f"{policy(live=True)}; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        return HTMLResponse(page([], live=True), headers=headers)

    for path, probe in (("/", inspector), ("/health", health), ("/ready", ready)):
        router.add_api_route(path, probe, methods=["HEAD"], include_in_schema=False)
    return router
