from federated.server_app import app

__all__ = ["app"]
