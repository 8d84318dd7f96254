# The server, or any other command of ragsieve, on a CPU: see docs/how-to/docker.md.
FROM python:3.11-slim AS build

ARG EXTRAS="html,local,openai,serve"
ARG TORCH_INDEX="https://download.pytorch.org/whl/cpu"
# Named weights to put into the image (`ragsieve models list`), with spaces between; empty for none.
ARG MODELS="smollm2 minilm"

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 RAGSIEVE_HOME=/opt/models
ENV PATH="/opt/ragsieve/bin:${PATH}"

WORKDIR /build
RUN python -m venv /opt/ragsieve && mkdir -p "${RAGSIEVE_HOME}"
COPY constraints.txt ./
# torch alone from its own index: that of PyPI brings gigabytes for GPUs.
RUN case ",${EXTRAS}," in *,local,*|*,train,*) \
        pip install --constraint constraints.txt --index-url "${TORCH_INDEX}" \
            --extra-index-url https://pypi.org/simple torch ;; \
    esac
COPY pyproject.toml README.md LICENSE NOTICE sbom.cdx.json ./
COPY src src
COPY research research
COPY large large
COPY multilingual multilingual
# all distributions from here: none is asked of an index
RUN pip wheel --no-deps --wheel-dir wheels . ./research ./large ./multilingual \
    && pip install --constraint constraints.txt --find-links wheels "ragsieve[${EXTRAS}]"
RUN for name in ${MODELS}; do ragsieve models pull "${name}" || exit 1; done

FROM python:3.11-slim

RUN useradd --system --uid 10001 --create-home ragsieve
COPY --from=build /opt/ragsieve /opt/ragsieve
COPY --from=build --chown=ragsieve:ragsieve /opt/models /opt/models

ENV PATH="/opt/ragsieve/bin:${PATH}" RAGSIEVE_HOME=/opt/models PYTHONUNBUFFERED=1
USER 10001
WORKDIR /home/ragsieve
EXPOSE 8000

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD \
    ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=4)"]

ENTRYPOINT ["ragsieve"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
