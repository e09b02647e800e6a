ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE}
COPY libraries /libraries
COPY qdrant.py /qdrant.py
ENV PYTHONPATH=/libraries
CMD ["python3", "/qdrant.py", "/qdrant/storage", "6333"]
