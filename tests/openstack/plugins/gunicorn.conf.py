# What gunicorn is told here and not by arguments: the services would read those.
import os

wsgi_app = os.environ['WEIR_APPLICATION']
bind = '127.0.0.1:' + os.environ['WEIR_PORT']
threads = int(os.environ['WEIR_THREADS'])
workers = 1
timeout = 300
graceful_timeout = 2
keepalive = 30
control_socket_disable = True
